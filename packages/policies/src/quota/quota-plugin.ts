import type { AdmissionContext, AdmissionPlugin } from '@cluster-apiserver/gates';
import { countedNames } from '@cluster-apiserver/kinds';
import type { LiveApi, Resource } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import { NamespaceQuotas } from './namespace-quotas.ts';

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
      const names = namesOf(context, api);
      if (names.length === 0) return undefined;
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

/** What a creation counts for. A review is not stored, and so not counted. */
const namesOf = ({ operation, subresource, resource }: AdmissionContext, api: LiveApi): readonly string[] =>
  operation === 'CREATE' && subresource === undefined && api.current.byGroupKind(resource.group, resource.kind)
    ? countedNames(resource)
    : [];
