export {
  collectGarbage,
  type GarbageCollectorEvent,
  type GarbageCollectorOptions,
} from './garbage-collector/garbage-collector.ts';
export { type ControllerMeasures, createControllerMeasures } from './controller-measures.ts';
export {
  drainNamespaces,
  type NamespaceControllerEvent,
  type NamespaceControllerOptions,
} from './namespaces/namespace-controller.ts';
export {
  checkPolicyTypes,
  type PolicyTypeCheckEvent,
  type PolicyTypeCheckOptions,
} from './validating-policies/check-policy-types.ts';
export {
  aggregateClusterRoles,
  type ClusterRoleAggregationEvent,
  type ClusterRoleAggregationOptions,
} from './rbac/aggregate-cluster-roles.ts';
export {
  type DefaultRoleEvent,
  type DefaultRoleOptions,
  reconcileDefaultRoles,
} from './rbac/reconcile-default-roles.ts';
export {
  FollowedPolicy,
  policyResources,
} from './rbac/follow-policy.ts';
