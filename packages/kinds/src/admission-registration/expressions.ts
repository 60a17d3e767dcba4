import { compile, formatType, type Type, types } from '@cluster-apiserver/expressions';

/** Says what is wrong with an expression, for each place where one may stand. Nothing wrong is an empty list. */
export interface ExpressionChecker {
  matchCondition(expression: string): readonly string[];
  validation(expression: string): readonly string[];
  message(expression: string): readonly string[];
  auditAnnotation(expression: string): readonly string[];
  applyConfiguration(expression: string): readonly string[];
  jsonPatch(expression: string): readonly string[];
  /** From then on `variables.NAME` is known to the other expressions. */
  variable(name: string, expression: string): readonly string[];
}

/** The kinds that are asked about may have any form, so what they hold is only known at run time. */
const request = { object: types.dyn, oldObject: types.dyn, request: types.dyn, namespaceObject: types.dyn };

export function expressionChecker({ hasParams }: { readonly hasParams: boolean }): ExpressionChecker {
  const found: Record<string, Type> = {};
  const check = (expression: string, wanted: readonly Type[], authorizer: boolean): readonly string[] => {
    const compiled = compile(expression, {
      ...request,
      ...(hasParams && { params: types.dyn }),
      ...(authorizer && { authorizer: types.dyn }),
      variables: types.object('kubernetes.variables', found),
    });
    if ('faults' in compiled) return [`compilation failed: ${compiled.faults.join('\n')}`];
    return wrongType(compiled.expression.type, wanted);
  };
  return {
    matchCondition: (expression) => check(expression, [types.bool], true),
    validation: (expression) => check(expression, [types.bool], true),
    message: (expression) => check(expression, [types.string], false),
    auditAnnotation: (expression) => check(expression, [types.string, types.null], true),
    applyConfiguration: (expression) => check(expression, [types.dyn], true),
    jsonPatch: (expression) => check(expression, [types.dyn], true),
    variable: (name, expression) => {
      found[name] = types.dyn;
      return check(expression, [], true);
    },
  };
}

function wrongType(type: Type, wanted: readonly Type[]): readonly string[] {
  const got = formatType(type);
  const names = wanted.map(formatType);
  if (wanted.length === 0 || names.includes(got)) return [];
  return [`must evaluate to ${names.length === 1 ? names[0] : `one of [${names.join(' ')}]`} but got ${got}`];
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Whether an expression can name something by this word. */
export const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);
