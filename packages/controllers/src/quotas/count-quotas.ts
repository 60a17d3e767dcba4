/**
 * Keeps the status of quotas: the limits that are in force, and how much is used. A creation and its charge are stored in one
 * transaction, so what is used was right at each revision before; the controller counts what has been deleted, and what
 * was created before the quota was in force.
 *
 * Memory holds all kinds at one revision. A count is written only if the quota has not changed since that revision: so no
 * charge is lost. While many objects are created, the quota changes with each of them, and the count waits. It cannot
 * starve: a quota without room is not charged, and then it is counted at once.
 */
import { countedNames, isQuotaName, isScoped, type ResourceQuota } from '@cluster-apiserver/kinds';
import { textOfItemKey } from '@cluster-apiserver/storage';
import { type LiveApi, countObjects, hasItemWithin } from '@cluster-apiserver/registry';
import { sameJson } from '@cluster-apiserver/model/json';
import { changeObject } from '../change-object.ts';
import { isLoaded, itemsWithin, readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, runController, manager } from '../run-controller.ts';

/** As in Kubernetes. */
const workers = 5;

/** Counts until the signal aborts, and resolves when no work is running any more. */
export async function countQuotas(options: ControllerOptions): Promise<void> {
  const { api, signal, log } = options;
  const quotas = api.byGroupKind('', 'ResourceQuota');
  if (!quotas || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: quotas,
    followsKind: (kind) => kind.namespaced && countedNames(kind).length > 0,
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        const stored = readable(quotas.collection.get(key));
        if (!stored) return;
        const { spec, status } = requireKind(stored.object, 'ResourceQuota');
        const counted = { hard: spec.hard ?? {}, used: countUsed(api, stored.namespace, spec) };
        if (sameJson(counted, { hard: status.hard ?? {}, used: status.used ?? {} })) return;
        const version = String(stored.revision);
        await changeObject(
          quotas,
          stored,
          {
            manager,
            subresource: 'status',
            // A state that was not counted causes the next change.
            change: (current) =>
              current.metadata.resourceVersion === version ? { ...current, status: counted } : current,
          },
          call(),
        );
        log.debug(2, 'counted what a quota limits', { quota: textOfItemKey(key) });
      },
      changed: (resource, { key, previous, current }) => {
        if (resource === quotas && current) enqueue(key);
        if ((previous === undefined) === (current === undefined)) return;
        const within = key.slice(0, key.indexOf('/') + 1);
        // Their load begins a sync.
        if (!isLoaded([quotas]) || !hasItemWithin(quotas, within)) return;
        for (const quota of itemsWithin(quotas.collection.view(), within)) enqueue(quota.key);
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}

/** What counts for each name that something counts. The scopes are about pods, so with one of them nothing does. */
function countUsed({ resources }: LiveApi, namespace: string, spec: ResourceQuota['spec']): Record<string, string> {
  const { hard = {} } = spec;
  // Of pods, volumes and services there are none.
  const used: Record<string, string> = Object.fromEntries(
    Object.keys(hard)
      .filter(isQuotaName)
      .map((name) => [name, '0']),
  );
  for (const resource of resources) {
    if (!resource.kind.namespaced) continue;
    for (const name of countedNames(resource.kind))
      if (Object.hasOwn(hard, name))
        used[name] = isScoped(spec) ? '0' : String(countObjects(resource.collection.view(), namespace));
  }
  return Object.fromEntries(Object.entries(used).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
