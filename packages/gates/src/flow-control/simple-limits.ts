import type { Clock } from '@cluster-apiserver/base';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import { FlowControl } from './flow-control.ts';
import { compileFlowSchema } from './flow-schemas.ts';

/** Requests in flight of each kind; 0 for no limit. */
export interface SimpleLimits {
  readonly readOnly: number;
  readonly mutating: number;
}

/**
 * Two limits instead of priority and fairness, in the same terms: a level for requests that read and one for all others,
 * which lend nothing and refuse what is above them. Members of system:masters are never refused, so that administrators
 * can always investigate.
 */
export function createSimpleLimits(clock: Clock, { readOnly, mutating }: SimpleLimits): FlowControl {
  const ignore = (): void => {};
  const measures = { dispatched: ignore, rejected: ignore, waited: ignore };
  const control = new FlowControl({ clock, seats: readOnly + mutating, waitMaxMs: 0, measures });
  control.configure(
    [
      schema('exempt', 1, mastersGroup, ['*']),
      schema('readOnly', 2, '*', ['get', 'list']),
      schema('mutating', 3, '*', ['*']),
    ],
    [level('exempt', 0), level('readOnly', readOnly), level('mutating', mutating)],
  );
  return control;
}

function schema(name: string, matchingPrecedence: number, group: string, verbs: readonly string[]) {
  const all = ['*'];
  return compileFlowSchema({
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name },
      matchingPrecedence,
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: group } }],
          resourceRules: [{ verbs, apiGroups: all, resources: all, clusterScope: true, namespaces: all }],
          nonResourceRules: [{ verbs, nonResourceURLs: all }],
        },
      ],
    },
  });
}

const level = (name: string, seats: number) => ({
  metadata: { name },
  spec:
    seats === 0
      ? { type: 'Exempt' }
      : {
          type: 'Limited',
          limited: { nominalConcurrencyShares: seats, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
        },
});
