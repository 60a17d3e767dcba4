import type { SyncTask } from '@cluster-apiserver/base';
import type { Schema } from '@cluster-apiserver/model/schema';
import { types } from '../check/type.ts';
import { describeFaults } from '../syntax/fault.ts';
import { compileInSteps, tryTypes, type Expression } from '../compile.ts';
import { expandMacros } from '../cost/cost-node.ts';
import { estimateCost } from '../cost/estimate.ts';
import type { CostPath } from '../cost/size.ts';
import { Budget, BudgetExceededError } from '../run/budget.ts';
import type { Bindings } from '../run/frame.ts';
import { Interruption, Progress } from '../run/progress.ts';
import { EvaluationError, Optional, type Value } from '../values/value.ts';
import type { DeclaredType } from './schema-type.ts';
import type { TypedValues } from './typed-values.ts';

/** An expression of a rule on the values of a schema. */
export interface RuleExpression {
  readonly expression: Expression;
  readonly readsOldSelf: boolean;
  /** What evaluating it can cost, in kube-apiserver's units. */
  readonly costMax: number;
}

/** Compiles an expression over `self` and `oldSelf`, or returns what is wrong with it. */
export function* compileRuleExpression(
  text: string,
  gives: 'bool' | 'string',
  self: DeclaredType,
  oldSelfIsOptional: boolean,
): SyncTask<RuleExpression | { readonly faults: readonly string[] } | { readonly isOfAnotherType: true }> {
  const oldSelf = oldSelfIsOptional ? types.optional(self.type) : self.type;
  const compiled = yield* compileInSteps({ variables: { self: self.type, oldSelf }, showsValues: true }, text);
  if ('faults' in compiled) return compiled;
  const { expression, node, checked, library } = compiled;
  if (expression.type.kind !== gives) return { isOfAnotherType: true };
  yield;
  const expanded = tryTypes(() => expandMacros(node, checked, library));
  if ('message' in expanded) return { faults: describeFaults(text, [expanded]) };
  const costMax = estimateCost(expanded, (path) => sizeAt(self, path));
  return { expression, readsOldSelf: checked.variables.has('oldSelf'), costMax };
}

/** The way begins with a variable, and both have the same type. */
function sizeAt(self: DeclaredType, [, ...path]: CostPath): number | undefined {
  let at: DeclaredType | undefined = self;
  for (const name of path) {
    at = partOf(at, name);
    if (!at) return undefined;
  }
  return at.sizeMax;
}

function partOf(whole: DeclaredType, name: string): DeclaredType | undefined {
  if (name === '@keys') return whole.type.kind === 'map' ? keyOfMap : undefined;
  return name === '@items' || name === '@values' ? whole.elements : whole.members?.get(name);
}

/** As upstream, keys have no length. */
const keyOfMap: DeclaredType = { type: types.string, sizeMax: 0, bytesMin: 2 };

/** The values that a rule is about. */
export interface RuleSubject {
  readonly values: TypedValues;
  readonly schema: Schema;
  readonly self: unknown;
  /** Undefined or null if there is none. */
  readonly oldSelf: unknown;
  readonly oldSelfIsOptional: boolean;
}

class RuleBindings implements Bindings {
  readonly #subject: RuleSubject;

  constructor(subject: RuleSubject) {
    this.#subject = subject;
  }

  get(name: string): Value | undefined {
    const { values, schema, self, oldSelf, oldSelfIsOptional } = this.#subject;
    if (name === 'self') return values.valueOf(schema, self);
    if (name !== 'oldSelf') return undefined;
    const isAbsent = oldSelf === undefined || oldSelf === null;
    const value = isAbsent ? undefined : values.valueOf(schema, oldSelf);
    return oldSelfIsOptional ? new Optional(value) : value;
  }
}

/** What a rule may cost. */
export interface RuleLimits {
  readonly units: number;
  /** Steps of this server, for what costs more here. */
  readonly steps: number;
}

export interface RuleOutcome {
  /** Undefined if there is none. */
  readonly value?: Value;
  readonly error?: EvaluationError | BudgetExceededError;
  /** What it has cost. */
  readonly spent: RuleLimits;
}

/** At most two milliseconds. */
const turnSteps = 5_000;

/** Evaluates an expression in steps of a turn. */
export function* evaluateRule(expression: Expression, subject: RuleSubject, limits: RuleLimits): SyncTask<RuleOutcome> {
  const variables = new RuleBindings(subject);
  const progress = new Progress();
  for (;;) {
    const budget = new Budget(limits.steps, turnSteps, turnSteps, limits.units);
    const spent = (): RuleLimits => ({ units: limits.units - budget.unitsLeft, steps: limits.steps - budget.left });
    try {
      return { value: expression.plan({ variables, locals: [], budget, progress }), spent: spent() };
    } catch (error) {
      if (error instanceof Interruption) {
        progress.wasInterrupted = true;
        yield;
      } else if (error instanceof EvaluationError || error instanceof BudgetExceededError)
        return { error, spent: spent() };
      else throw error;
    }
  }
}
