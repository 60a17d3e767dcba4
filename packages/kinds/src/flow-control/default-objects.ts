import type { FlowRule, FlowSchemaSpec, FlowSubject, ResourceRule } from './flow-schema-spec.ts';
import type { PriorityLevelSpec } from './priority-level-spec.ts';

const group = (name: string): FlowSubject => ({ kind: 'Group', group: { name } });
const user = (name: string): FlowSubject => ({ kind: 'User', user: { name } });
const serviceAccounts = (namespace: string): FlowSubject => ({
  kind: 'ServiceAccount',
  serviceAccount: { namespace, name: '*' },
});
const everyone = [group('system:unauthenticated'), group('system:authenticated')];

const allResources: ResourceRule = {
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  clusterScope: true,
  namespaces: ['*'],
};
const leases = (...verbs: string[]): ResourceRule => ({
  verbs,
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  namespaces: ['*'],
});
const anything = (...subjects: FlowSubject[]): FlowRule => ({
  subjects,
  resourceRules: [allResources],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});

const schema = (
  level: string,
  matchingPrecedence: number,
  method: 'ByUser' | 'ByNamespace' | undefined,
  rule: FlowRule,
): FlowSchemaSpec => ({
  priorityLevelConfiguration: { name: level },
  matchingPrecedence,
  ...(method && { distinguisherMethod: { type: method } }),
  rules: [rule],
});

/** FlowSchemas that always exist, and that cannot be changed. */
export const mandatoryFlowSchemas: Readonly<Record<string, FlowSchemaSpec>> = {
  exempt: schema('exempt', 1, undefined, anything(group('system:masters'))),
  'catch-all': schema('catch-all', 10_000, 'ByUser', anything(...everyone)),
};

/** FlowSchemas that are there unless an administrator takes them over by their annotation. */
export const suggestedFlowSchemas: Readonly<Record<string, FlowSchemaSpec>> = {
  probes: schema('exempt', 2, undefined, {
    subjects: everyone,
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
  }),
  'system-leader-election': schema('leader-election', 100, 'ByUser', {
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), serviceAccounts('kube-system')],
    resourceRules: [leases('get', 'create', 'update')],
  }),
  'system-node-high': schema('node-high', 400, 'ByUser', {
    subjects: [group('system:nodes')],
    resourceRules: [
      { verbs: ['*'], apiGroups: [''], resources: ['nodes', 'nodes/status'], clusterScope: true, namespaces: ['*'] },
      leases('*'),
    ],
  }),
  'system-nodes': schema('system', 500, 'ByUser', anything(group('system:nodes'))),
  'kube-controller-manager': schema(
    'workload-high',
    800,
    'ByNamespace',
    anything(user('system:kube-controller-manager')),
  ),
  'kube-scheduler': schema('workload-high', 800, 'ByNamespace', anything(user('system:kube-scheduler'))),
  'kube-system-service-accounts': schema('workload-high', 900, 'ByNamespace', anything(serviceAccounts('kube-system'))),
  'service-accounts': schema('workload-low', 9_000, 'ByUser', anything(group('system:serviceaccounts'))),
  'global-default': schema('global-default', 9_900, 'ByUser', anything(...everyone)),
};

const queued = (shares: number, lendablePercent: number, queues: number, handSize: number): PriorityLevelSpec => ({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
  },
});

/** Priority levels that always exist. Of `exempt` the member `exempt` may be changed. */
export const mandatoryPriorityLevels: Readonly<Record<string, PriorityLevelSpec>> = {
  exempt: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  'catch-all': {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  },
};

/** Priority levels that are there unless an administrator takes them over by their annotation. */
export const suggestedPriorityLevels: Readonly<Record<string, PriorityLevelSpec>> = {
  system: queued(30, 33, 64, 6),
  'node-high': queued(40, 25, 64, 6),
  'leader-election': queued(10, 0, 16, 4),
  'workload-high': queued(40, 50, 128, 6),
  'workload-low': queued(100, 90, 128, 6),
  'global-default': queued(20, 50, 128, 6),
};
