import { check } from './check/check.ts';
import { validateLiterals } from './check/literals.ts';
import type { Type } from './check/type.ts';
import { Budget } from './run/budget.ts';
import { plan } from './run/plan.ts';
import { describeFault, type Fault, SyntaxFault } from './syntax/fault.ts';
import { childrenOf, type Node, qualifiedName } from './syntax/node.ts';
import { parse } from './syntax/parser.ts';
import type { Value } from './values/value.ts';

/** An expression that is known to work on values of its declared types. */
export interface Expression {
  readonly text: string;
  readonly type: Type;
  /**
   * Throws `EvaluationError` when there is no answer and `BudgetExceededError` when it would cost too much. A budget can
   * be for several evaluations together; a number of steps is for this one.
   */
  evaluate(variables: ReadonlyMap<string, Value>, budget?: number | Budget): Value;
  /** Whether it looks at a field of a variable, as `claims.email`, `claims.?email` or `claims['email']`. */
  readsField(variable: string, field: string): boolean;
}

/** About a tenth of a second, far more than any rule needs: it is there for the one that never ends. */
const budgetStepsMax = 250_000;

/**
 * Reads and checks an expression. What is wrong comes back as one text for each fault, with its place; an expression
 * that could only fail later is refused now, when somebody is there to mend it.
 */
export function compile(
  text: string,
  variables: Readonly<Record<string, Type>>,
): { readonly expression: Expression } | { readonly faults: readonly string[] } {
  const declared = { variables: new Map(Object.entries(variables)), container: '' };
  const node = parsed(text);
  if ('message' in node) return { faults: [describeFault(text, node)] };
  const checked = check(node, declared);
  const faults = [...checked.faults, ...validateLiterals(node, checked.typeOf)];
  const { type } = checked;
  if (faults.length > 0) return { faults: faults.map((fault) => describeFault(text, fault)) };
  const run = plan(node, { ...declared, overloadsOf: checked.overloadsOf });
  return {
    expression: {
      text,
      type,
      evaluate: (values, budget = budgetStepsMax) =>
        run({ variables: values, locals: [], budget: typeof budget === 'number' ? new Budget(budget) : budget }),
      readsField: (variable, field) => readsField(node, variable, field),
    },
  };
}

function parsed(text: string): Node | Fault {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof SyntaxFault) return error;
    throw error;
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
