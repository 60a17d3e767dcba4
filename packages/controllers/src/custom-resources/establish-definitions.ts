/** Accepts the names of CustomResourceDefinitions, and establishes their kinds. */
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import { formatTime } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';
import { readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, runController } from '../run-controller.ts';

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'kube-apiserver';
const workers = 5;

export async function establishDefinitions(options: ControllerOptions): Promise<void> {
  const { api, clock, signal, log } = options;
  const definitions = api.current.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');
  if (!definitions || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: definitions,
    followed: () => [definitions],
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        const stored = readable(definitions.collection.get(key));
        if (!stored) return;
        const wanted = withConditions(requireKind(stored.object, 'CustomResourceDefinition'), clock.now());
        if (sameJson(wanted.status, stored.object['status'])) return;
        await changeObject(
          definitions,
          stored,
          {
            manager,
            subresource: 'status',
            change: (current) => withConditions(requireKind(current, 'CustomResourceDefinition'), clock.now()),
          },
          call(),
        );
        log.debug(2, 'established a kind', { definition: textOfItemKey(key) });
      },
      changed: (_, { key, current }) => {
        if (current) enqueue(key);
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}

function withConditions(definition: CustomResourceDefinition, nowMs: number): CustomResourceDefinition {
  const { names, versions } = definition.spec;
  const time = formatTime(nowMs);
  const conditions = definition.status.conditions ?? [];
  const has = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True');
  if (has('NamesAccepted') && has('Established') && sameJson(names, definition.status.acceptedNames)) return definition;
  const storage = (versions ?? []).filter((one) => one.storage).map(({ name }) => name);
  return {
    ...definition,
    status: {
      ...definition.status,
      acceptedNames: names,
      storedVersions: [...new Set([...(definition.status.storedVersions ?? []), ...storage])],
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          lastTransitionTime: time,
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: time,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
    },
  };
}
