export {
  type AbacPolicy,
  type AccessDecision,
  type AccessAttributes,
  type AccessRules,
  type AccessRequirement,
  type AccessSelector,
  decisionNotReady,
  type ResourceAttributes,
  type UserInfo,
} from './access.ts';
export {
  type FieldError,
  fieldErrorsMax,
  formatPath,
  type Path,
  formatJson,
  formatValue,
  Problems,
  type Step,
} from './problems.ts';
export {
  alreadyExists,
  badRequest,
  conflict,
  forbiddenResource,
  invalid,
  methodNotSupported,
  notFound,
  requireValid,
  type Reason,
  type ResourceNames,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  success,
} from './status.ts';
export { formatMicroTime, formatTime } from './time.ts';
export { type PolicyRule, rbacGroup, type RbacSubject, type RoleRef } from './rbac.ts';
export { parseQuantity, Quantity, quantityLengthMax, quantityOfInt } from './quantity.ts';
