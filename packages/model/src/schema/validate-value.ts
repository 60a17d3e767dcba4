import { getOwn, type SyncTask } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import { compareNumbers, formatFloat, formatNumber, type Integer, isRawNumber, numberOf } from '../json/raw-number.ts';
import { sameJson } from '../json/same-json.ts';
import { formatPath, type Problems } from '../problems.ts';
import { findEntryStep } from './list-entries.ts';
import { isSharedList, type ListSchema, memberSchema, type Schema } from './schema.ts';
import { UnchangedValues } from './unchanged-values.ts';
import type { ValueRules } from './value-rules.ts';

/**
 * Validates a canonical value by the types and rules of its schema, in the words of kube-apiserver. What an update leaves as
 * it was, in `current`, is not validated again: the schema may have become stricter since.
 */
export function* validateValue(schema: Schema, value: unknown, current: unknown, problems: Problems): SyncTask<void> {
  yield* new ValueValidator(problems.path.length).validate(schema, value, current, problems);
}

/** Work between two pauses. A value with rules is one unit, and takes one or two microseconds. */
const workPerStep = 256;
/** The characters that are counted in the time of a unit, and the instructions of a pattern for one character. */
const charactersPerUnit = 256;
const instructionsPerUnit = 100;

class ValueValidator {
  readonly #unchanged = new UnchangedValues();
  /** Messages name values by their path from here. */
  readonly #depth: number;
  #visited = 0;
  #work = 0;
  #pauseAt = workPerStep;

  constructor(depth: number) {
    this.#depth = depth;
  }

  *validate(schema: Schema, value: unknown, current: unknown, at: Problems): SyncTask<void> {
    if (current !== undefined && this.#unchanged.has(schema, value, current)) return;
    const type = typeOf(schema);
    if (type !== undefined && !hasType(type, value) && !(value === null && schema.nullable))
      this.#refuseType(type, schema.rules, value, at);
    yield* this.#check(schema.rules ?? noRules, type, value, at);
    if (Array.isArray(value) && schema.type === 'list') {
      const before = findEntries(schema, current);
      for (const [index, entry] of value.entries())
        yield* this.validate(schema.items, entry, before?.(entry), at.at(index));
    } else if (isJsonObject(value) && (schema.type === 'map' || (schema.type === 'object' && schema.structural))) {
      const before = isJsonObject(current) ? current : {};
      for (const name in value) {
        const inner = memberSchema(schema, name);
        if (inner) yield* this.validate(inner, value[name], getOwn(before, name), at.at(name));
      }
    }
  }

  *#check(rules: ValueRules, type: string | undefined, value: unknown, at: Problems): SyncTask<void> {
    this.#visited++;
    if (++this.#work >= this.#pauseAt) {
      yield;
      this.#pauseAt = this.#work + workPerStep;
    }
    if (rules === noRules && typeof value !== 'number') return;
    yield* this.#checkAlternatives(rules, value, at);
    if (typeof value === 'string') this.#checkText(rules, value, at);
    else if (typeof value === 'number' || isRawNumber(value)) this.#checkNumber(rules, type, value, at);
    this.#work += rules.enum?.length ?? 0;
    if (rules.enum && (value === null || !rules.enum.some((one) => sameJson(one, value))))
      at.notSupported(value, rules.enum.map(formatChoice));
    if (Array.isArray(value)) yield* this.#checkList(rules, value, at);
    else if (isJsonObject(value)) yield* this.#checkMembers(rules, value, at);
  }

  *#checkAlternatives({ anyOf, oneOf, allOf, not }: ValueRules, value: unknown, at: Problems): SyncTask<void> {
    const refuse = (problem: string): void => {
      this.#whole(at).invalid('', `"${this.#text(at)}" must ${problem}`);
    };
    if (anyOf) {
      const { valid, best } = yield* this.#try(anyOf, value, at, 1);
      if (valid === 0) refuse('validate at least one schema (anyOf)');
      if (valid === 0 && best) at.include(best);
    }
    if (oneOf) {
      const { valid, best } = yield* this.#try(oneOf, value, at);
      const found = valid === 0 ? 'none valid' : `${valid} valid alternatives`;
      if (valid !== 1) refuse(`validate one and only one schema (oneOf). Found ${found}`);
      if (valid === 0 && best) at.include(best);
    }
    if (allOf) {
      let valid = 0;
      for (const rules of allOf) {
        const before = at.count;
        yield* this.#check(rules, undefined, value, at);
        if (at.count === before) valid++;
      }
      if (valid < allOf.length) refuse(`validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`);
    }
    if (not && (yield* this.#try([not], value, at)).valid > 0) refuse('not validate the schema (not)');
  }

  /** How many of the alternatives hold, up to a number, and the problems of the one that looked at most values. */
  *#try(
    alternatives: readonly ValueRules[],
    value: unknown,
    at: Problems,
    enough = alternatives.length,
  ): SyncTask<{ readonly valid: number; readonly best: Problems | undefined }> {
    let valid = 0;
    let best: { readonly problems: Problems; readonly visited: number } | undefined;
    for (const rules of alternatives) {
      const problems = at.aside();
      const before = this.#visited;
      yield* this.#check(rules, undefined, value, problems);
      const visited = this.#visited - before;
      if (problems.count === 0) valid++;
      else if (!best || visited > best.visited) best = { problems, visited };
      if (valid === enough) break;
    }
    return { valid, best: best?.problems };
  }

  #checkText({ minLength, maxLength, pattern, format }: ValueRules, value: string, at: Problems): void {
    this.#work += value.length / charactersPerUnit;
    if (maxLength !== undefined && isLonger(value, maxLength)) at.tooLong(maxLength);
    else if (minLength !== undefined && !isLonger(value, minLength - 1))
      at.invalid(value, this.#inBody(at, `should be at least ${minLength} chars long`));
    else if (pattern) {
      this.#work += (value.length * pattern.size) / instructionsPerUnit;
      const matches = pattern.matches(value);
      if (matches === undefined) at.invalid(value, this.#inBody(at, 'is too long for its pattern'));
      else if (!matches) at.invalid(value, this.#inBody(at, `should match '${pattern.source}'`));
    }
    if (format?.matches && !format.matches(value)) this.#refuse(format.name, value, at);
  }

  #checkNumber(rules: ValueRules, type: string | undefined, value: Integer, at: Problems): void {
    const { minimum, maximum, multipleOf, format } = rules;
    if (!isInRange(type, format?.name, value))
      this.#whole(at).invalid(
        '',
        `Checked value must be of type ${type} ${format ? `with format ${format.name}` : '(default format)'} in ${this.#text(at)}`,
      );
    if (multipleOf !== undefined && !isMultiple(value, multipleOf))
      at.invalid(value, this.#inBody(at, `should be a multiple of ${formatBound(multipleOf, value)}`));
    if (maximum && compareNumbers(value, maximum.value) > (maximum.isExclusive ? -1 : 0))
      at.invalid(
        value,
        this.#inBody(
          at,
          `should be less than ${maximum.isExclusive ? '' : 'or equal to '}${formatBound(maximum.value, value)}`,
        ),
      );
    if (minimum && compareNumbers(value, minimum.value) < (minimum.isExclusive ? 1 : 0))
      at.invalid(
        value,
        this.#inBody(
          at,
          `should be greater than ${minimum.isExclusive ? '' : 'or equal to '}${formatBound(minimum.value, value)}`,
        ),
      );
  }

  *#checkList({ minItems, maxItems, items }: ValueRules, value: readonly unknown[], at: Problems): SyncTask<void> {
    const { length } = value;
    if (minItems !== undefined && length < minItems)
      at.invalid(length, this.#inBody(at, `should have at least ${minItems} items`));
    if (maxItems !== undefined && length > maxItems) at.tooMany(length, maxItems);
    if (items) for (const [index, entry] of value.entries()) yield* this.#check(items, undefined, entry, at.at(index));
  }

  *#checkMembers(rules: ValueRules, value: Readonly<Record<string, unknown>>, at: Problems): SyncTask<void> {
    const { minProperties, maxProperties, required, properties, additionalProperties } = rules;
    const count = minProperties === undefined && maxProperties === undefined ? 0 : Object.keys(value).length;
    if (minProperties !== undefined && count < minProperties)
      at.invalid(count, this.#inBody(at, `should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && count > maxProperties) at.tooMany(count, maxProperties);
    for (const name of required ?? []) if (!Object.hasOwn(value, name)) at.at(name).required();
    if (!properties && !additionalProperties) return;
    for (const [name, member] of Object.entries(value)) {
      const inner = properties?.get(name) ?? additionalProperties;
      if (inner) yield* this.#check(inner, undefined, member, at.at(name));
    }
  }

  /** A value of a format is named by the type that it has in Go. */
  #refuseType(type: string, rules: ValueRules | undefined, value: unknown, at: Problems): void {
    const found = describeType(value);
    const format = typeof value === 'string' || Array.isArray(value) ? undefined : rules?.format?.name;
    this.#refuse(format ?? type, format === undefined ? found : (goTypes.get(found) ?? ''), at);
  }

  #refuse(wanted: string, shown: string, at: Problems): void {
    const detail = this.#inBody(at, `must be of type ${wanted}: ${JSON.stringify(shown.slice(0, shownCharactersMax))}`);
    at.invalid(shown, detail, 'FieldValueTypeInvalid');
  }

  #inBody(at: Problems, problem: string): string {
    return `${this.#text(at)} in body ${problem}`;
  }

  /** Where the value as a whole is: a fault of a part that messages name, and errors do not. */
  #whole(at: Problems): Problems {
    return at.upTo(this.#depth).shown();
  }

  #text(at: Problems): string {
    return formatPath(at.path.slice(this.#depth));
  }
}

const noRules: ValueRules = {};

/** As much of a text as an error repeats. */
const shownCharactersMax = 256;

/** The name of the type in OpenAPI; undefined for a schema without one. */
/** As OpenAPI names it; undefined where values of any type are valid. */
export function typeOf({ type }: Schema): string | undefined {
  switch (type) {
    case 'any':
      return undefined;
    case 'int32':
    case 'int64':
      return 'integer';
    case 'double':
      return 'number';
    case 'intOrString':
      return 'integer,string';
    case 'list':
      return 'array';
    case 'map':
      return 'object';
    case 'boolean':
    case 'object':
      return type;
    default:
      return 'string';
  }
}

function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  // Only integers beyond 2^53 are kept as text.
  return isRawNumber(value) ? 'integer' : typeof value;
}

function hasType(type: string, value: unknown): boolean {
  const found = describeType(value);
  return (
    type === found || (type === 'number' && found === 'integer') || (type === 'integer,string' && type.includes(found))
  );
}

const goTypes: ReadonlyMap<string, string> = new Map([
  ['integer', 'int64'],
  ['number', 'float64'],
]);

const floatMax = 3.402_823_466_385_288_6e38;

function isInRange(type: string | undefined, format: string | undefined, value: Integer): boolean {
  if (type === 'number') return format !== 'float' || Math.abs(numberOf(value)) <= floatMax;
  if (type !== 'integer') return true;
  if (typeof value !== 'number') return format !== 'int32';
  return Number.isSafeInteger(value) && (format !== 'int32' || Math.abs(value + 0.5) < 2 ** 31);
}

/** Whether a quotient is whole, as far as doubles can tell. */
const quotientError = 1e-9;

function isMultiple(value: Integer, factor: Integer): boolean {
  if (numberOf(factor) === 0) return true;
  if (isInteger(value) && isInteger(factor)) return BigInt(formatNumber(value)) % BigInt(formatNumber(factor)) === 0n;
  const quotient = numberOf(value) / numberOf(factor);
  const whole = Math.round(quotient);
  return Number.isSafeInteger(whole) && Math.abs(quotient - whole) <= quotientError * Math.abs(quotient + whole);
}

/** Whether it is kept exactly, as Go keeps integers of 64 bits. Any other is a double. */
const isInteger = (value: Integer): boolean => typeof value !== 'number' || Number.isSafeInteger(value);

/** A bound is written as a number of the type that the value has. */
const formatBound = (bound: Integer, value: Integer): string =>
  isInteger(value) ? formatNumber(bound) : formatFloat(numberOf(bound));

/** Whether a text has more characters than this. It has at most two code units for each. */
function isLonger(text: string, charactersMax: number): boolean {
  if (text.length <= charactersMax) return false;
  if (text.length > 2 * charactersMax) return true;
  let count = 0;
  for (const _ of text) if (++count > charactersMax) return true;
  return false;
}

const formatChoice = (choice: unknown): string => (typeof choice === 'string' ? choice : JSON.stringify(choice));

/** The former entries of a list, by what identifies them; undefined if nothing does. */
function findEntries(schema: ListSchema, current: unknown): ((entry: unknown) => unknown) | undefined {
  if (!isSharedList(schema) || schema.sharing === 'set' || !Array.isArray(current)) return undefined;
  const entries = new Map(current.map((entry: unknown) => [findEntryStep(schema, entry), entry]));
  return (entry) => {
    const step = findEntryStep(schema, entry);
    return step === undefined ? undefined : entries.get(step);
  };
}
