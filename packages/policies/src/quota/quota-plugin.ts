import { chain } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmissionPlugin } from '@cluster-apiserver/gates';
import { countedNames } from '@cluster-apiserver/kinds';
import { hasItemWithin, type LiveApi, type Resource } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import { findFirstRefusal, quotasCounting } from './charges.ts';
import { NamespaceQuotas } from './namespace-quotas.ts';
import { storeElsewhere } from './store-elsewhere.ts';

/**
 * Refuses to create what exceeds a quota of its namespace. The object and the charges of its quotas are stored in one
 * transaction, which fails if a quota has changed meanwhile. So all replicas together never exceed a quota, and what is not
 * stored is not charged.
 */
export function createResourceQuota(api: LiveApi): AdmissionPlugin {
  const byNamespace = new Map<string, NamespaceQuotas>();
  const quotasOf = (namespace: string, quotas: Resource): NamespaceQuotas => {
    let found = byNamespace.get(namespace);
    if (!found) {
      const forget = (): void => void byNamespace.delete(namespace);
      byNamespace.set(namespace, (found = new NamespaceQuotas(namespace, quotas, forget)));
    }
    return found;
  };
  return {
    name: 'ResourceQuota',
    validate: (context) => {
      const { namespace } = context;
      const quotas = api.byGroupKind('', 'ResourceQuota');
      if (namespace === undefined || !quotas || !hasItemWithin(quotas, itemKey(`${namespace}/`))) return undefined;
      const names = namesOf(context, api);
      if (names.length === 0) return undefined;
      return chain(requireRoom(quotas, namespace, names, context), (isCounted) =>
        isCounted && !context.dryRun
          ? (creation) =>
              creation.feed === quotas.collection.feed
                ? quotasOf(namespace, quotas).store(creation, names, context)
                : storeElsewhere(creation, { quotas, namespace, names, context })
          : undefined,
      );
    },
  };
}

/** Whether a quota counts the creation. Throws if one has no room. */
function requireRoom(
  quotas: Resource,
  namespace: string,
  names: readonly string[],
  context: AdmissionContext,
): boolean | Promise<boolean> {
  const counting = quotasCounting(quotas, namespace, names);
  if (!findFirstRefusal(counting, names, context)) return counting.length > 0;
  // What was stored by others may have made room.
  return (quotas.collection.waitUntilFresh(undefined, context.call) ?? Promise.resolve()).then(() => {
    const now = quotasCounting(quotas, namespace, names);
    const refusal = findFirstRefusal(now, names, context);
    if (refusal) throw refusal;
    return now.length > 0;
  });
}

/** What a creation counts for. A review is not stored, and so not counted. */
const namesOf = ({ operation, subresource, resource }: AdmissionContext, api: LiveApi): readonly string[] =>
  operation === 'CREATE' && subresource === undefined && api.byGroupKind(resource.group, resource.kind)
    ? countedNames(resource)
    : [];
