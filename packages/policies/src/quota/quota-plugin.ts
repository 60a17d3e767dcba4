import type { Clock } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmissionPlugin } from '@cluster-apiserver/gates';
import type { LiveApi } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import { NamespaceCharges } from './namespace-charges.ts';

export interface ResourceQuotaOptions {
  readonly api: LiveApi;
  readonly clock: Clock;
}

/** Counted under their names of before `count/…`, too. */
const aliased: ReadonlySet<string> = new Set(['configmaps', 'secrets', 'resourcequotas']);

/** Nothing counts them, so that a full namespace can still report what happens in it. */
const uncounted: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io']);

/**
 * Refuses to create what exceeds a quota of its namespace. The quotas are charged before the object is stored, each by a
 * conditional write, so all replicas together never exceed them. A charge is given back if the object is not stored.
 */
export function createResourceQuota({ api, clock }: ResourceQuotaOptions): AdmissionPlugin {
  const byNamespace = new Map<string, NamespaceCharges>();
  return {
    name: 'ResourceQuota',
    validate: (context) => {
      const names = countedNames(context, api);
      const quotas = api.current.byGroupKind('', 'ResourceQuota');
      const { namespace } = context;
      if (!names || !quotas || namespace === undefined) return undefined;
      const { items } = quotas.collection.view();
      if (items.size === 0) return undefined;
      const within = itemKey(`${namespace}/`);
      let hasQuota = false;
      items.visit(within, ({ key }) => {
        hasQuota = key.startsWith(within);
        return false;
      });
      if (!hasQuota) return undefined;
      let charges = byNamespace.get(namespace);
      if (!charges) {
        const forget = (): void => void byNamespace.delete(namespace);
        byNamespace.set(namespace, (charges = new NamespaceCharges(namespace, quotas, clock, forget)));
      }
      return charges.charge(names, context);
    },
  };
}

/** What a create counts for; undefined if no quota can count it. */
function countedNames(
  { operation, subresource, resource: { group, plural, kind } }: AdmissionContext,
  api: LiveApi,
): readonly string[] | undefined {
  if (operation !== 'CREATE' || subresource !== undefined) return undefined;
  const name = group === '' ? plural : `${plural}.${group}`;
  // A review is not stored.
  if (uncounted.has(name) || !api.current.byGroupKind(group, kind)) return undefined;
  return aliased.has(name) ? [name, `count/${name}`] : [`count/${name}`];
}
