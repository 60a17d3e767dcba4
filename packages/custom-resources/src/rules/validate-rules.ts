import { getOwn, type SyncTask } from '@cluster-apiserver/base';
import {
  BudgetExceededError,
  evaluateRule,
  type RuleExpression,
  type RuleLimits,
  type RuleSubject,
  TypedValues,
} from '@cluster-apiserver/expressions';
import { type FieldError, fieldErrorsMax, formatPath, type Problems } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { findEntryStep, isSharedList, type Schema, typeOf, UnchangedValues } from '@cluster-apiserver/model/schema';
import type { ValidationRule } from '../schema/json-schema.ts';
import type { CompiledRule, RuleNode } from './rule-node.ts';

/** What an evaluation may cost, and all of one object. As upstream, and in steps as much as at worst that is here. */
const callLimits: RuleLimits = { units: 1_000_000, steps: 2_500_000 };
const objectLimits: RuleLimits = { units: 10_000_000, steps: 25_000_000 };

/** What rules may still cost: those of one object, or of all defaults of a schema. */
export class RuleBudget {
  #left: RuleLimits = objectLimits;

  get isSpent(): boolean {
    return this.#left.units <= 0 || this.#left.steps <= 0;
  }

  /** False if it was not enough. */
  spend({ units, steps }: RuleLimits): boolean {
    this.#left = { units: this.#left.units - units, steps: this.#left.steps - steps };
    return this.#left.units >= 0 && this.#left.steps >= 0;
  }
}

/**
 * Validates an object by rules. None is evaluated if the object has problems that rules do not expect: then that is a
 * problem, too. A rule that breaks where an update changes nothing is a warning, unless it compares with the former value.
 */
export function* validateRules(
  root: RuleNode,
  value: unknown,
  current: unknown,
  problems: Problems,
  warn: (text: string) => void,
): SyncTask<void> {
  if (problems.count > problems.errors.length || problems.errors.some(({ reason }) => blocking.has(reason))) {
    problems
      .shown()
      .invalid(
        null,
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
      );
    return;
  }
  const correlation = current === undefined ? undefined : { schema: root.schema, value, current, isLive: true };
  yield* new RuleValidator(new RuleBudget(), warn).validate(root, value, current, correlation, problems);
}

const blocking: ReadonlySet<FieldError['reason']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Validates the default of a schema by its rules: as a value that stays, and as one that is new. */
export function* validateDefaultByRules(
  node: RuleNode,
  value: unknown,
  budget: RuleBudget,
  problems: Problems,
): SyncTask<void> {
  const before = problems.count;
  const validator = new RuleValidator(budget, () => {});
  const goesOn = yield* validator.validate(node, value, value, undefined, problems);
  if (goesOn && problems.count === before) yield* validator.validate(node, value, undefined, undefined, problems);
}

/** The closest part around a value, or the value, that has a former one. */
interface Correlation {
  readonly schema: Schema;
  readonly value: unknown;
  readonly current: unknown;
  /** Whether it is the value itself. Nothing in a part without a former one has any. */
  readonly isLive: boolean;
}

/** Values that are visited in one step, and rules that are evaluated if each takes less than a turn. */
const valuesPerStep = 200;
const rulesPerStep = 20;

class RuleValidator {
  readonly #values = new TypedValues();
  readonly #unchanged = new UnchangedValues();
  readonly #budget: RuleBudget;
  readonly #warn: (text: string) => void;
  #warnings = 0;
  #visited = 0;
  #evaluated = 0;
  /** Whether the values around the current one are. */
  #isPrepared = false;

  constructor(budget: RuleBudget, warn: (text: string) => void) {
    this.#budget = budget;
    this.#warn = warn;
  }

  /** False when no more rules are to be evaluated. */
  *validate(
    node: RuleNode,
    value: unknown,
    current: unknown,
    correlation: Correlation | undefined,
    at: Problems,
  ): SyncTask<boolean> {
    if (value === null || value === undefined) return true;
    if (++this.#visited % valuesPerStep === 0) yield;
    if (node.rules.length > 0 && this.#budget.isSpent) return outOfBudget(at, node.schema);
    // With all that is in them.
    const isFirst = node.rules.length > 0 && !this.#isPrepared;
    if (isFirst) {
      yield* this.#values.prepare(node.schema, value);
      yield* this.#values.prepare(node.schema, current);
      this.#isPrepared = true;
    }
    const goesOn = yield* this.#validate(node, value, current, correlation, at);
    if (isFirst) this.#isPrepared = false;
    return goesOn;
  }

  *#validate(
    node: RuleNode,
    value: unknown,
    current: unknown,
    correlation: Correlation | undefined,
    at: Problems,
  ): SyncTask<boolean> {
    const forgives = (): boolean =>
      correlation !== undefined && this.#unchanged.has(correlation.schema, correlation.value, correlation.current);
    for (const rule of node.rules) {
      const subject = { schema: node.schema, self: value, oldSelf: current };
      if (!(yield* this.#evaluate(rule, subject, forgives, at))) return false;
    }
    if (Array.isArray(value)) return yield* this.#validateItems(node, value, current, correlation, at);
    return isJsonObject(value) ? yield* this.#validateMembers(node, value, current, correlation, at) : true;
  }

  *#validateMembers(
    { fields, rest }: RuleNode,
    value: Readonly<Record<string, unknown>>,
    current: unknown,
    correlation: Correlation | undefined,
    at: Problems,
  ): SyncTask<boolean> {
    if (fields.size === 0 && !rest) return true;
    const before = isJsonObject(current) ? current : {};
    for (const [name, member] of Object.entries(value)) {
      const field = fields.get(name);
      const node = field ?? rest;
      if (!node) continue;
      const former = getOwn(before, name);
      const inner = correlate(correlation, node.schema, member, former);
      if (!(yield* this.validate(node, member, former, inner, at.at(field ? name : { key: name })))) return false;
    }
    return true;
  }

  *#validateItems(
    { schema, items }: RuleNode,
    value: readonly unknown[],
    current: unknown,
    correlation: Correlation | undefined,
    at: Problems,
  ): SyncTask<boolean> {
    if (!items) return true;
    const formers = yield* entriesByStep(schema, current);
    for (const [index, entry] of value.entries()) {
      const step = formers && isSharedList(schema) ? findEntryStep(schema, entry) : undefined;
      const former = step === undefined ? undefined : formers?.get(step);
      const inner = correlate(correlation, items.schema, entry, former);
      if (!(yield* this.validate(items, entry, former, inner, at.at(index)))) return false;
    }
    return true;
  }

  *#evaluate(
    { declaration, condition, message, fieldPath }: CompiledRule,
    of: Pick<RuleSubject, 'schema' | 'self' | 'oldSelf'>,
    forgives: () => boolean,
    at: Problems,
  ): SyncTask<boolean> {
    const oldSelfIsOptional = declaration.optionalOldSelf === true;
    if (condition.readsOldSelf && !oldSelfIsOptional && (of.oldSelf === undefined || of.oldSelf === null)) return true;
    if (++this.#evaluated % rulesPerStep === 0) yield;
    const subject = { ...of, values: this.#values, oldSelfIsOptional };
    const { value, error, spent } = yield* evaluateRule(condition.expression, subject, callLimits);
    if (!this.#budget.spend(spent)) return outOfBudget(at, of.schema);
    if (error) {
      at.shown().invalid(openApiType(of.schema), describeError(error, declaration));
      return !(error instanceof BudgetExceededError);
    }
    if (value === true) return true;
    const evaluated = message ? yield* this.#evaluateMessage(message, subject) : {};
    const found = at
      .at(...fieldPath)
      .shown()
      .aside();
    if ('fault' in evaluated) found.invalid(openApiType(of.schema), evaluated.fault);
    else reportBroken(declaration, of, evaluated.text ?? declaredMessage(declaration), found);
    if (condition.readsOldSelf || !forgives()) at.include(found);
    else if (this.#warnings++ < fieldErrorsMax)
      for (const { path, message: text } of found.errors) this.#warn(`${formatPath(path)}: ${text}`);
    return !('fault' in evaluated);
  }

  /** Nothing if the message has no text that can be shown. */
  *#evaluateMessage(
    { expression }: RuleExpression,
    subject: RuleSubject,
  ): SyncTask<{ readonly text?: string } | { readonly fault: string }> {
    const { value, error, spent } = yield* evaluateRule(expression, subject, callLimits);
    if (!this.#budget.spend(spent))
      return {
        fault:
          'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      };
    if (error instanceof BudgetExceededError)
      return {
        fault: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(expression.text)}`,
      };
    const text = typeof value === 'string' ? value.trim() : '';
    const isShown = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageBytesMax;
    return isShown ? { text } : {};
  }
}

const messageBytesMax = 5 * 1024;

/** What is known of a part of a value with a former one. */
function correlate(
  outer: Correlation | undefined,
  schema: Schema,
  value: unknown,
  current: unknown,
): Correlation | undefined {
  if (!outer?.isLive) return outer;
  return current === undefined ? { ...outer, isLive: false } : { schema, value, current, isLive: true };
}

/** The former entries of a list that are matched by their keys; undefined for other lists. */
function* entriesByStep(schema: Schema, current: unknown): SyncTask<ReadonlyMap<string, unknown> | undefined> {
  if (!isSharedList(schema) || schema.sharing === 'set' || !Array.isArray(current)) return undefined;
  const entries = new Map<string, unknown>();
  for (const entry of current) {
    const step = findEntryStep(schema, entry);
    if (step !== undefined) entries.set(step, entry);
    if (entries.size % valuesPerStep === 0) yield;
  }
  return entries;
}

function outOfBudget(at: Problems, schema: Schema): false {
  at.shown().invalid(
    openApiType(schema),
    'validation failed due to running out of cost budget, no further validation rules will be run',
  );
  return false;
}

function describeError(error: Error, rule: ValidationRule): string {
  const shown = shownRule(rule);
  if (error instanceof BudgetExceededError)
    return `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`;
  return error.message.startsWith('no such overload')
    ? `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`
    : `${error.message} evaluating rule: ${shown}`;
}

/** Objects and lists are not shown. */
function reportBroken(
  { reason }: ValidationRule,
  { schema, self }: Pick<RuleSubject, 'schema' | 'self'>,
  detail: string,
  at: Problems,
): void {
  const isShown = !['object', 'array'].includes(openApiType(schema));
  switch (reason) {
    case 'FieldValueForbidden':
      at.forbidden(detail);
      break;
    case 'FieldValueRequired':
      at.required(detail);
      break;
    case 'FieldValueDuplicate':
      if (isShown) at.duplicate(self);
      else at.report('Duplicate value', 'FieldValueDuplicate');
      break;
    default:
      if (isShown) at.invalid(self, detail);
      else at.report(`Invalid value: ${detail}`);
  }
}

const declaredMessage = (rule: ValidationRule): string =>
  rule.message ? rule.message.trim() : `failed rule: ${shownRule(rule)}`;

/** What errors call a rule. */
const shownRule = ({ rule, message }: ValidationRule): string => (message || rule).trim();

/** The `type` of a schema; empty if it has none. */
const openApiType = (schema: Schema): string => (schema.type === 'intOrString' ? '' : (typeOf(schema) ?? ''));
