import { runSync, type SyncTask } from '@cluster-apiserver/base';
import { check, type Checked, type OverloadsOf } from './check/check.ts';
import { TypesTooLargeError } from './check/inference.ts';
import { validateLiterals } from './check/literals.ts';
import { formatTypeName, shortenType, type Type } from './check/type.ts';
import type { Environment } from './environment/environment.ts';
import { findPatchType } from './environment/patch-types.ts';
import { commonLibrary, type Library, mutationLibrary } from './library/index.ts';
import { Budget } from './run/budget.ts';
import { type Bindings, type Plan, Slots } from './run/frame.ts';
import { plan, type PlanContext } from './run/plan.ts';
import { Progress } from './run/progress.ts';
import { describeFaults, type Fault, SyntaxFault } from './syntax/fault.ts';
import { childrenOf, type Node, qualifiedName } from './syntax/node.ts';
import { parse } from './syntax/parser.ts';
import type { Value } from './values/value.ts';

/** An expression that is known to work on values of its declared types. */
export interface Expression {
  readonly text: string;
  readonly type: Type;
  /**
   * Throws `EvaluationError` when there is no answer and `BudgetExceededError` when it would cost too much. A budget can
   * be for several evaluations together; a number of steps is for this one. What may wait for an answer is evaluated by
   * an `Evaluation`.
   */
  evaluate(variables: Bindings, budget?: number | Budget): Value;
  /** Whether it looks at a field of a variable, as `claims.email`, `claims.?email` or `claims['email']`. */
  readsField(variable: string, field: string): boolean;
  /** How an `Evaluation` runs it. */
  readonly plan: Plan;
  /** How deep its parts are in one another, and so how much of the stack it takes. */
  readonly depth: number;
}

export type Compiled = { readonly expression: Expression } | { readonly faults: readonly string[] };

/**
 * Parses and type-checks an expression. Returns one message per error, with its position. An expression that could only
 * fail later is rejected now, while its author can still fix it.
 */
export const compile = (text: string, variables: Readonly<Record<string, Type>>): Compiled =>
  compileIn({ variables }, text);

/** The same in an environment that has more than variables. */
export function compileIn(environment: Environment, text: string): Compiled {
  const compiled = runSync(compileInSteps(environment, text));
  return 'faults' in compiled ? compiled : { expression: compiled.expression };
}

/** An expression with its tree and the types of its parts, which take more memory than it. */
export interface CheckedExpression {
  readonly expression: Expression;
  readonly node: Node;
  readonly checked: Checked;
  readonly library: Library;
}

/** A long expression takes some milliseconds in each of the steps. */
export function* compileInSteps(
  environment: Environment,
  text: string,
): SyncTask<CheckedExpression | { readonly faults: readonly string[] }> {
  const { variables, hasPatchTypes = false, showsValues = false } = environment;
  const library = hasPatchTypes ? mutationLibrary : commonLibrary;
  const declared = {
    variables: new Map(Object.entries(variables)),
    container: '',
    library,
    ...(hasPatchTypes && { constructible: findPatchType }),
  };
  const node = tryParse(text);
  if (node instanceof SyntaxFault) return { faults: describeFaults(text, [...node.earlier, node]) };
  yield;
  const checked = tryTypes(() => check(node, declared));
  if ('message' in checked) return { faults: describeFaults(text, [checked]) };
  yield;
  const inLiterals = tryTypes(() => validateLiterals(node, checked.typeOf, library));
  if ('message' in inLiterals) return { faults: describeFaults(text, [inLiterals]) };
  const faults = [...checked.faults, ...inLiterals];
  if (faults.length > 0) return { faults: describeFaults(text, faults) };
  yield;
  const run = planChecked(node, { ...declared, showsValues }, checked.overloadsOf);
  const expression = createExpression(text, node, checked.type, run);
  return { expression, node, checked, library };
}

/**
 * The functions of a plan keep the scopes that they were made in. So this one, and that of an expression, has nothing of
 * what the checker knows.
 */
function planChecked(node: Node, declared: Omit<PlanContext, 'slots'>, overloadsOf: OverloadsOf): Plan {
  const known: { overloadsOf?: OverloadsOf } = { overloadsOf };
  const run = plan(node, { ...declared, overloadsOf: overloadsIn(known), slots: new Slots() });
  delete known.overloadsOf;
  return run;
}

const overloadsIn =
  (known: { readonly overloadsOf?: OverloadsOf }): OverloadsOf =>
  (part) =>
    known.overloadsOf?.(part);

const createExpression = (text: string, node: Node, type: Type, run: Plan): Expression => ({
  text,
  type,
  plan: run,
  depth: node.depth,
  evaluate: (values, budget) =>
    run({
      variables: values,
      locals: [],
      budget: budget instanceof Budget ? budget : new Budget(budget),
      progress: new Progress(),
    }),
  readsField: (variable, field) => readsField(node, variable, field),
});

/**
 * An expression whose value has one of these types, or what kube-apiserver says of it when it is not: the detail of an
 * `Invalid` field error.
 */
export function compileTyped(
  environment: Environment,
  text: string,
  allowed: readonly Type[],
): { readonly expression: Expression } | { readonly fault: string } {
  const compiled = compileIn(environment, text);
  if ('faults' in compiled) return { fault: `compilation failed: ${compiled.faults.join('\n')}` };
  const names = allowed.map(formatTypeName);
  const type = formatTypeName(compiled.expression.type);
  if (names.includes(type)) return compiled;
  const wanted = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
  return { fault: `must evaluate to ${wanted} but got ${shortenType(type)}` };
}

function tryParse(text: string): Node | SyntaxFault {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof SyntaxFault) return error;
    throw error;
  }
}

/** Work on the types of an expression, or the fault that they are too large. */
export function tryTypes<T>(work: () => T): T | Fault {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TypesTooLargeError)) throw error;
    return { at: 0, message: error.message };
  }
}

function readsField(node: Node, variable: string, field: string): boolean {
  return accessOf(node, variable) === field || childrenOf(node).some((child) => readsField(child, variable, field));
}

function accessOf(node: Node, variable: string): Value | undefined {
  const of = (operand: Node | undefined): boolean => operand !== undefined && qualifiedName(operand) === variable;
  if (node.kind === 'select') return of(node.operand) ? node.field : undefined;
  if (node.kind !== 'call' || (node.name !== '_[_]' && node.name !== '_[?_]')) return undefined;
  const [operand, index] = node.args;
  return of(operand) && index?.kind === 'literal' ? index.value : undefined;
}
