export { changeObject } from './change-object.ts';
export { ServedDefinitions } from './custom-resources/serve-definitions.ts';
export { followFlowControl } from './flow-control/follow-flow-control.ts';
export { type ControllerMeasures, createControllerMeasures } from './controller-measures.ts';
export { controllers } from './controllers.ts';
export type { ServedElsewhere } from './run-controller.ts';
export type { ControllerServices } from './run-controller.ts';
export {
  type DefaultRoleOptions,
  reconcileDefaultRoles,
} from './rbac/reconcile-default-roles.ts';
export {
  FollowedPolicy,
  policyResources,
} from './rbac/follow-policy.ts';
