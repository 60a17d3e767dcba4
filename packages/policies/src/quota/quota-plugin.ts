import type { AdmissionContext, AdmissionPlugin } from '@cluster-apiserver/gates';
import type { LiveApi, Resource } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import { NamespaceQuotas } from './namespace-quotas.ts';

/** Counted under their names of before `count/…`, too. */
const aliased: ReadonlySet<string> = new Set(['configmaps', 'secrets', 'resourcequotas']);

/** Nothing counts them, so that a full namespace can still report what happens in it. */
const uncounted: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io']);

/**
 * Refuses to create what exceeds a quota of its namespace. The object and the charges of its quotas are stored in one
 * transaction, which fails if a quota has changed meanwhile. So all replicas together never exceed a quota, and what is not
 * stored is not charged.
 */
export function createResourceQuota(api: LiveApi): AdmissionPlugin {
  const byNamespace = new Map<string, NamespaceQuotas>();
  return {
    name: 'ResourceQuota',
    validate: (context) => {
      const { namespace } = context;
      const quotas = api.current.byGroupKind('', 'ResourceQuota');
      if (namespace === undefined || !quotas || !hasQuota(quotas, namespace)) return undefined;
      const names = countedNames(context, api);
      if (!names) return undefined;
      let ofNamespace = byNamespace.get(namespace);
      if (!ofNamespace) {
        const forget = (): void => void byNamespace.delete(namespace);
        byNamespace.set(namespace, (ofNamespace = new NamespaceQuotas(namespace, quotas, forget)));
      }
      return ofNamespace.charge(names, context);
    },
  };
}

function hasQuota({ collection }: Resource, namespace: string): boolean {
  const { items } = collection.view();
  if (items.size === 0) return false;
  const within = itemKey(`${namespace}/`);
  let isFound = false;
  items.visit(within, ({ key }) => {
    isFound = key.startsWith(within);
    return false;
  });
  return isFound;
}

/** What a creation counts for; undefined if no quota can count it. */
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
