export { formatType, type Type, types } from './check/type.ts';
export { compile, type Expression } from './compile.ts';
export { Budget, BudgetExceededError } from './run/budget.ts';
export { fromJson } from './values/from-json.ts';
export { EvaluationError, type Value } from './values/value.ts';
