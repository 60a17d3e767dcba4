export { formatType, formatTypeName, type ObjectType, type Type, types } from './check/type.ts';
export { type Compiled, compile, compileIn, compileTyped, type Expression } from './compile.ts';
export {
  createAdmissionEnvironment,
  type AdmissionOptions,
  type AdmissionValues,
  createAdmissionValues,
} from './environment/admission.ts';
export { authorizationVariables } from './environment/authorization.ts';
export type { Environment } from './environment/environment.ts';
export { toApplyConfiguration, toJsonPatch, type PatchOperation } from './environment/mutation.ts';
export { applyConfigurationType, jsonPatchType } from './environment/patch-types.ts';
export { isIdentifier, policyResults } from './environment/policy-results.ts';
export {
  compileRuleExpression,
  evaluateRule,
  type RuleExpression,
  type RuleLimits,
  type RuleOutcome,
  type RuleSubject,
} from './environment/rule.ts';
export {
  type DeclaredType,
  declareRuleTypes,
  mapValues,
  requestBytesMax,
  ruleMember,
  type TypeDeclarations,
  typeOfKind,
} from './environment/schema-type.ts';
export { TypedValues } from './environment/typed-values.ts';
export {
  compileVariables,
  type VariableSet,
  withVariables,
  type VariableDeclaration,
} from './environment/variables.ts';
export { dateFormats } from './library/named-formats.ts';
export { compileSchemaPattern } from './library/regular-expressions.ts';
export { Budget, BudgetExceededError } from './run/budget.ts';
export { Evaluation, requestStepsMax } from './run/evaluation.ts';
export type { Bindings } from './run/frame.ts';
export type { Authorize, CheckedResource } from './values/authorizer.ts';
export { fromJson } from './values/from-json.ts';
export { fromApiJson } from './values/json-map.ts';
export { readIpv6 } from './values/ip.ts';
export { parseUrl } from './values/url.ts';
export { EvaluationError, type Value } from './values/value.ts';
