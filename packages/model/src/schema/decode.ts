import { getOwn, setOwn, type SyncTask, unreachable } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { type Integer, integerOf, isRawNumber, numberOf, type RawNumber, rawNumber } from '../json/raw-number.ts';
import { nestingMax } from '../json/json-scan.ts';
import { parseQuantity } from '../quantity.ts';
import { formatPath, type Path, Problems, type Step } from '../problems.ts';
import { StatusError } from '../status.ts';
import { parseMicroTime, parseTime } from '../time.ts';
import { countValues } from '../validation/values.ts';
import { AddedDefaults, readDefaults, writtenDefaults } from './added-defaults.ts';
import { decodeBase64 } from './base64.ts';
import {
  memberSchema,
  type Field,
  type ListSchema,
  type MapSchema,
  type ObjectSchema,
  type Schema,
  type Structural,
} from './schema.ts';

/**
 * Turns parsed JSON into the canonical value of a schema: fields in the schema's order, nothing that the schema does
 * not name, nothing empty, the keys of maps sorted, times in UTC. Equal objects have equal canonical JSON, so equality is a comparison of bytes.
 */
export function decode<Value>(
  schema: ObjectSchema<Value>,
  value: unknown,
  unknownField: (path: Path) => void,
  options: DecodeOptions = {},
): Value {
  const decoder = new Decoder(unknownField, options);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Value` is derived from the fields that the value is built by
  return decoder.root(schema, value) as Value;
}

/** The same in steps, each of some thousand values at most, or of the members of one object. */
export function* decodeInSteps<Value>(
  schema: ObjectSchema<Value>,
  value: unknown,
  unknownField: (path: Path) => void,
  options: Omit<DecodeOptions, 'problems'> = {},
): SyncTask<Value> {
  const decoder = new Decoder(unknownField, options);
  if (countValues(value, valuesPerStep) > valuesPerStep) {
    decoder.measure(value);
    yield;
    yield* decoder.decodeParts(schema, value);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return decoder.root(schema, value) as Value;
}

/** Values that are decoded in one step, which takes a millisecond or two. */
const valuesPerStep = 2_000;

/** Smaller parts are not counted one by one. */
const measuredValuesMin = 100;

export interface DecodeOptions {
  /** In structural objects: what is applied may set no field to null, and validation has to see it. */
  readonly keepsNulls?: boolean;
  /** In structural objects: whether absent fields get their defaults; true by default. */
  readonly addsDefaults?: boolean;
  /**
   * What becomes of defaults that would make the object huge. A request is refused. A stored object does without them, so that
   * it can be read and deleted. In a default they stay, for it is bounded where it is added.
   */
  readonly hugeDefaults?: 'refused' | 'omitted' | 'added';
  /** The size of the stored value that is read, which bounds what its defaults add. */
  readonly storedBytes?: number;
  /**
   * Takes all that is wrong in declared objects, also by the rules of their values; in place of a value of a wrong type is
   * an empty one. Without it the first value of a wrong type ends the decoding, and values are not validated.
   */
  readonly problems?: Problems;
}

/** Of a value in a message. */
const shownCharactersMax = 1_000;

/** A value of a type that its field does not take. */
export class WrongTypeError extends Error {
  override readonly name = 'WrongTypeError';
  readonly path: Path;
  readonly problem: string;
  /** `about`: what its message says before the problem. */
  constructor(path: Path, problem: string, about = '') {
    super(`${path.length === 0 ? 'the object' : formatPath(path)}: ${about}${problem}`);
    this.path = path;
    this.problem = problem;
  }
}

/** The fields and entries on the way to the value that is decoded are steps, of which no text is made unless it is needed. */
class Decoder {
  readonly #path: Step[] = [];
  readonly #unknownField: (path: Path) => void;
  readonly #keepsNulls: boolean;
  readonly #addsDefaults: boolean;
  readonly #hugeDefaults: DecodeOptions['hugeDefaults'];
  readonly #added: AddedDefaults;
  readonly #problems: Problems | undefined;
  /** Parts of a large value that have been decoded, with what they were decoded by. */
  readonly #parts = new Map<object, { readonly by: unknown; readonly decoded: unknown }>();
  /** The values in the larger of them. */
  readonly #sizes = new Map<object, number>();
  #valuesOfStep = 0;

  constructor(
    unknownField: (path: Path) => void,
    { keepsNulls = false, addsDefaults = true, hugeDefaults = 'refused', storedBytes, problems }: DecodeOptions,
  ) {
    this.#unknownField = unknownField;
    this.#keepsNulls = keepsNulls;
    this.#addsDefaults = addsDefaults;
    this.#hugeDefaults = hugeDefaults;
    this.#added = new AddedDefaults(storedBytes === undefined ? writtenDefaults : readDefaults(storedBytes));
    this.#problems = problems;
  }

  root(schema: ObjectSchema, value: unknown): unknown {
    return this.#problems ? this.#validated(schema, value, this.#problems) : this.object(schema, value);
  }

  /**
   * Counts the values in each part, once: a count of a part with many members takes long. What is nested deeper than known
   * fields may be is not decoded.
   */
  measure(value: unknown, level = 0): number {
    if (typeof value !== 'object' || value === null || isRawNumber(value) || level > nestingMax) return 1;
    let size = 1;
    for (const member of Array.isArray(value) ? value : Object.values(value)) size += this.measure(member, level + 1);
    if (size >= measuredValuesMin) this.#sizes.set(value, size);
    return size;
  }

  /** Decodes what is in a large value: where it is decoded as a whole, its parts are found. */
  *decodeParts(schema: Schema, value: unknown, isKept = false): SyncTask<void> {
    for (const part of partsOf(schema, value, isKept)) {
      const { step, inner } = part;
      const size = this.#sizes.get(part.value) ?? measuredValuesMin;
      if (size > valuesPerStep) {
        this.#path.push(step);
        yield* this.decodeParts(inner, part.value, part.isKept);
        this.#path.pop();
      }
      const decoded = part.isKept ? this.#keptAt(step, inner, part.value) : this.#below(step, inner, part.value);
      this.#parts.set(part.value, { by: part.by, decoded });
      this.#valuesOfStep += size;
      if (this.#valuesOfStep < valuesPerStep) continue;
      this.#valuesOfStep = 0;
      yield;
    }
  }

  #partOf(by: unknown, value: unknown): unknown {
    if (this.#parts.size === 0 || typeof value !== 'object' || value === null) return undefined;
    const part = this.#parts.get(value);
    return part?.by === by ? part?.decoded : undefined;
  }

  object(schema: ObjectSchema, value: unknown): Record<string, unknown> {
    const source = value === null || value === undefined ? {} : value;
    if (!isJsonObject(source)) throw this.#wrongType('an object', value);
    if (schema.structural) return this.#structural(schema, schema.structural, source);
    for (const key in source) if (!schema.fields.has(key)) this.#reportUnknown(key);
    const out: Record<string, unknown> = {};
    for (const field of schema.fields.values()) {
      // No field has the name of something that objects inherit.
      const raw = source[field.name];
      if (raw === undefined && !isAlwaysShown(field)) continue;
      const decoded = this.#field(field, raw);
      if (decoded !== undefined) out[field.name] = decoded;
    }
    return out;
  }

  #field(field: Field, raw: unknown): unknown {
    const { name, presence, schema } = field;
    if (presence === 'required' && isMissing(raw)) return this.#missing(field);
    if (raw === null || raw === undefined)
      return (
        this.#default(schema) ?? (presence === 'always' ? zero(schema) : presence === 'nullIfEmpty' ? null : undefined)
      );
    const value = this.#below(name, schema, raw);
    if (presence === 'given' || presence === 'required' || presence === 'always' || !isEmpty(schema, value))
      return value;
    return presence === 'nullIfEmpty' ? null : undefined;
  }

  #below(step: Step, schema: Schema, value: unknown): unknown {
    // Most fields are texts, which need no step.
    if (schema.type === 'string' && typeof value === 'string' && !schema.validate) return value;
    const part = this.#partOf(schema, value);
    if (part !== undefined) return part;
    this.#path.push(step);
    const decoded = this.#problems ? this.#validated(schema, value, this.#problems) : this.#value(schema, value);
    this.#path.pop();
    return decoded;
  }

  /** A value is validated if everything in it is right. It stays if it is refused, unless its type lists all values. */
  #validated(schema: Schema, value: unknown, problems: Problems): unknown {
    const depth = this.#path.length;
    const before = problems.count;
    try {
      const decoded = this.#value(schema, value);
      if (!schema.validate || problems.count > before) return decoded;
      schema.validate(decoded, problems.at(...this.#path));
      return problems.count > before && schema.rules?.enum ? placeholder(schema) : decoded;
    } catch (error) {
      if (!(error instanceof WrongTypeError)) throw error;
      this.#path.length = depth;
      problems.at(...error.path).report(error.problem);
      return placeholder(schema);
    }
  }

  #missing({ name, missing = 'Required value', schema }: Field): unknown {
    if (!this.#problems) throw new WrongTypeError([...this.#path, name], missing);
    this.#problems.at(...this.#path, name).report(missing);
    return placeholder(schema);
  }

  #value(schema: Schema, value: unknown): unknown {
    switch (schema.type) {
      case 'string':
        if (typeof value !== 'string') throw this.#wrongType('a string', value);
        return value;
      case 'bytes':
        if (typeof value !== 'string') throw this.#wrongType('bytes in base64', value);
        return this.#bytes(value);
      case 'boolean':
        if (typeof value !== 'boolean') throw this.#wrongType('true or false', value);
        return value;
      case 'int32':
      case 'int64':
        return this.#integer(schema.type, value);
      case 'double':
        return this.#double(value);
      case 'intOrString':
        if (typeof value !== 'string' && typeof value !== 'number' && !isRawNumber(value))
          throw this.#wrongType('a whole number or a string', value);
        return typeof value === 'string' ? value : this.#integer('int32', value);
      case 'quantity':
        return this.#quantity(value);
      case 'time':
      case 'microTime':
        return this.#time(schema.type, value);
      case 'map':
        return this.#map(schema, value);
      case 'list':
        return this.#list(schema, value);
      case 'object':
        return schema.otherwise && !isJsonObject(value)
          ? this.#value(schema.otherwise.schema, value)
          : this.object(schema, value);
      case 'any':
        return schema.contents === undefined ? value : this.#free(value, schema.contents);
      default:
        return unreachable(schema);
    }
  }

  /** Prunes, drops nulls and fills in defaults. Values of wrong types stay. */
  #structural(schema: ObjectSchema, { first, added, embeddedResource }: Structural, source: JsonObject): JsonObject {
    const out: Record<string, unknown> = {};
    const missing = added.filter((name) => !Object.hasOwn(source, name));
    for (const name of inOrder([...Object.keys(source), ...missing], first)) {
      const member = memberSchema(schema, name);
      if (!member) {
        this.#reportUnknown(name);
        continue;
      }
      const field = schema.fields.get(name);
      const isStrict = field && isStrictIn(embeddedResource, name, member);
      const raw = getOwn(source, name);
      const isMetadata = embeddedResource && name === 'metadata';
      const value = !isStrict
        ? this.#keptAt(name, member, raw)
        : isMetadata
          ? this.#metadata(field, raw)
          : this.#field(field, raw);
      if (value !== undefined) setOwn(out, name, value);
    }
    return out;
  }

  /** Errors name the metadata of an embedded resource as a whole, as in kube-apiserver. */
  #metadata(field: Field, raw: unknown): unknown {
    const depth = this.#path.length;
    try {
      return this.#field(field, raw);
    } catch (error) {
      if (!(error instanceof WrongTypeError)) throw error;
      const path = [...this.#path.slice(0, depth), field.name];
      const inside = formatPath(error.path.slice(path.length));
      const shown = (JSON.stringify(raw) ?? '').slice(0, shownCharactersMax);
      throw new WrongTypeError(path, `${inside ? `${inside}: ` : ''}${error.problem}`, `Invalid value: ${shown}: `);
    }
  }

  #keptAt(step: Step, schema: Schema, value: unknown): unknown {
    const part = this.#partOf(schema, value);
    if (part !== undefined) return part;
    this.#path.push(step);
    const kept = this.#kept(schema, value);
    this.#path.pop();
    return kept;
  }

  #kept(schema: Schema, value: unknown): unknown {
    if (value === undefined) return this.#default(schema);
    if (value === null)
      return this.#keepsNulls || schema.nullable || schema.type === 'any' ? null : this.#default(schema);
    if (schema.type === 'object') return isJsonObject(value) ? this.object(schema, value) : this.#free(value, 'owned');
    if (schema.type === 'any') return this.#free(value, schema.contents ?? 'owned');
    if (schema.type !== 'list' || !Array.isArray(value)) return this.#free(value, 'owned');
    // Validation refuses a null.
    return value.map((entry: unknown, index) => this.#keptAt(index, schema.items, entry) ?? null);
  }

  #default(schema: Schema): unknown {
    if (!this.#addsDefaults || schema.default === undefined) return undefined;
    const problem = this.#hugeDefaults === 'added' ? undefined : this.#added.add(schema.default);
    if (problem === undefined) return schema.default;
    if (this.#hugeDefaults === 'omitted') return undefined;
    throw new StatusError('RequestEntityTooLarge', problem);
  }

  /** A value without a schema: numbers as they are exact, and members in the order of their names. */
  #free(value: unknown, contents: 'owned' | 'emptied'): unknown {
    // Minus zero has no JSON of its own.
    if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
    if (Array.isArray(value)) return value.map((entry, index) => this.#freeAt(index, entry, contents));
    if (isRawNumber(value)) return this.#exact(value);
    const out: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value).sort(byName)) {
      if (contents === 'emptied') this.#reportUnknown(name);
      else setOwn(out, name, this.#freeAt(name, member, contents));
    }
    return out;
  }

  #freeAt(step: Step, value: unknown, contents: 'owned' | 'emptied'): unknown {
    if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
    const part = this.#partOf(contents, value);
    if (part !== undefined) return part;
    this.#path.push(step);
    const kept = this.#free(value, contents);
    this.#path.pop();
    return kept;
  }

  /** As Go reads a number without a schema: an int64 if it is written as one, and a double otherwise. */
  #exact(number: RawNumber): Integer {
    const text = number.rawJSON;
    if (text.length <= integerCharactersMax && wholeNumber.test(text)) {
      const exact = BigInt(text);
      if (BigInt.asIntN(64, exact) === exact) return integerOf(exact);
    }
    return this.#double(number);
  }

  #bytes(text: string): string {
    const bytes = decodeBase64(text);
    if (!bytes) throw this.#error('expected bytes in base64, got another string');
    return bytes.toString('base64');
  }

  #time(type: 'time' | 'microTime', value: unknown): string | null {
    if (typeof value !== 'string') throw this.#wrongType('a time as a string', value);
    const parsed = type === 'time' ? parseTime(value) : parseMicroTime(value);
    if (parsed !== undefined) return parsed;
    throw this.#error(`${JSON.stringify(value.slice(0, timeCharactersMax))} is not a time like ${timeExamples[type]}`);
  }

  #map({ values }: MapSchema, value: unknown): Record<string, unknown> {
    if (!isJsonObject(value)) throw this.#wrongType(`an object of ${values.type}s`, value);
    // The order of keys has no meaning, so canonical maps are sorted.
    const keys = Object.keys(value).sort();
    if (keys.length === 0) return emptyMap;
    const out: Record<string, unknown> = {};
    for (const key of keys) {
      const entry = value[key];
      setOwn(out, key, entry === null ? zero(values) : this.#below(key, values, entry));
    }
    return out;
  }

  #list({ items }: ListSchema, value: unknown): unknown[] {
    if (!Array.isArray(value)) throw this.#wrongType('a list', value);
    return value.map((entry: unknown, index) =>
      entry === null && !this.#problems && items.type !== 'any' ? zero(items) : this.#below(index, items, entry),
    );
  }

  #integer(type: 'int32' | 'int64', value: unknown): Integer {
    const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : undefined;
    if (text === undefined) throw this.#wrongType('a whole number', value);
    if (typeof value === 'number' && Number.isSafeInteger(value) && (type === 'int64' || value === (value | 0)))
      return value === 0 ? 0 : value;
    const shown = text.length > integerCharactersMax ? `${text.slice(0, integerCharactersMax)}…` : text;
    if (!wholeNumber.test(text))
      throw this.#error(`expected a whole number without a fraction or an exponent, got ${shown}`);
    const [least, most] = integerLimits[type];
    const exact = text.length > integerCharactersMax ? undefined : BigInt(text);
    if (exact === undefined || exact < least || exact > most) throw this.#error(`${shown} does not fit into ${type}`);
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : rawNumber(exact.toString());
  }

  #double(value: unknown): number {
    if (typeof value !== 'number' && !isRawNumber(value)) throw this.#wrongType('a number', value);
    const rounded = numberOf(value);
    if (!Number.isFinite(rounded)) throw this.#error('the number is beyond those that a double can hold');
    // Minus zero has no JSON of its own.
    return rounded === 0 ? 0 : rounded;
  }

  #quantity(value: unknown): string {
    if (typeof value !== 'string' && typeof value !== 'number' && !isRawNumber(value))
      throw this.#wrongType('a quantity', value);
    const text = typeof value === 'string' ? value.trim() : isRawNumber(value) ? value.rawJSON : String(value);
    const parsed = parseQuantity(text);
    if (!parsed)
      throw this.#error(`${JSON.stringify(text.slice(0, quantityCharactersMax))} is not a quantity like 500m or 1.5Gi`);
    return parsed.toString();
  }

  /** Many members may be unknown far down. */
  #reportUnknown(name: string): void {
    const isDeep = this.#path.length > reportedStepsMax;
    this.#unknownField(isDeep ? [...this.#path.slice(0, reportedStepsMax), '…'] : [...this.#path, name]);
  }

  #wrongType(wanted: string, got: unknown): WrongTypeError {
    return this.#error(`expected ${wanted}, got ${describeType(got)}`);
  }

  #error(problem: string): WrongTypeError {
    return new WrongTypeError([...this.#path], problem);
  }
}

const isAlwaysShown = ({ presence }: Field): boolean =>
  presence === 'always' || presence === 'nullIfEmpty' || presence === 'required';

const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

/** A value of the type of a schema, in place of one that is missing or wrong. */
const placeholder = (schema: Schema): unknown =>
  schema.type === 'object'
    ? new Decoder(() => {}, { problems: new Problems() }).object(schema, {})
    : (schema.rules?.enum?.[0] ?? zero(schema));

/** A member of a structural object that is decoded by its type, and not kept as it is. */
const isStrictIn = (embeddedResource: boolean, name: string, member: Schema): boolean =>
  isDeclared(member) || (embeddedResource && typeNames.has(name));

interface Part {
  readonly step: Step;
  readonly value: object;
  readonly inner: Schema;
  /** What the decoder looks for it by. */
  readonly by: unknown;
  readonly isKept: boolean;
}

/** The objects and lists in a value that are decoded by themselves. */
function* partsOf(schema: Schema, value: unknown, isKept: boolean): Generator<Part, void> {
  if (schema.type === 'object' && schema.otherwise && !isJsonObject(value))
    yield* partsOf(schema.otherwise.schema, value, isKept);
  const memberOf = membersOf(schema, value, isKept);
  if (!memberOf) return;
  for (const [step, member] of Array.isArray(value) ? value.entries() : Object.entries(Object(value)))
    if (Array.isArray(member) || isJsonObject(member)) {
      const part = memberOf(String(step));
      if (part) yield { step, value: member, ...part };
    }
}

type FindMember = (name: string) => Pick<Part, 'inner' | 'by' | 'isKept'> | undefined;

/** How the members of a value are decoded; undefined if it is decoded as a whole. */
function membersOf(schema: Schema, value: unknown, isKept: boolean): FindMember | undefined {
  if (schema.type === 'any' && schema.contents === 'owned')
    return () => ({ inner: schema, by: schema.contents, isKept: true });
  if (Array.isArray(value)) {
    if (schema.type !== 'list') return undefined;
    const { items } = schema;
    return () => ({ inner: items, by: items, isKept });
  }
  if (schema.type === 'map') return () => ({ inner: schema.values, by: schema.values, isKept: false });
  if (schema.type !== 'object') return undefined;
  const { structural } = schema;
  return (name) => {
    const inner = structural ? memberSchema(schema, name) : schema.fields.get(name)?.schema;
    const isStrict =
      !structural || (schema.fields.has(name) && inner && isStrictIn(structural.embeddedResource, name, inner));
    return inner && { inner, by: inner, isKept: !isStrict };
  };
}

const isDeclared = (schema: Schema): boolean =>
  schema.type === 'map' || (schema.type === 'object' && !schema.structural);

const typeNames = new Set(['kind', 'apiVersion']);

const byName = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : left > right ? 1 : 0;

function inOrder(names: string[], first: readonly string[]): readonly string[] {
  names.sort();
  if (first.length === 0) return names;
  return [...first.filter((name) => names.includes(name)), ...names.filter((name) => !first.includes(name))];
}

const wholeNumber = /^-?[0-9]+$/;

/** The steps to an unknown member that are reported; no known kind has half as many. */
const reportedStepsMax = 32;

/** More than any time has. */
const timeCharactersMax = 64;

/** As much of a text that is no quantity as shows what it is. */
const quantityCharactersMax = 64;

const timeExamples = { time: '2026-01-31T12:00:00Z', microTime: '2026-01-31T12:00:00.000000Z' };

/** A single instance, since counting the keys of a large map takes milliseconds. */
const emptyMap: Record<string, unknown> = Object.freeze({});

/** More than an int64 has; in JSON no number begins with zeros. */
const integerCharactersMax = 32;

const integerLimits = { int32: [-(2n ** 31n), 2n ** 31n - 1n], int64: [-(2n ** 63n), 2n ** 63n - 1n] } as const;

/** The value of an unset field that is part of a response all the same. */
export function zero(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return '';
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '0';
    case 'time':
    case 'microTime':
      return null;
    case 'list':
      return [];
    case 'object':
      return decode(schema, undefined, () => {});
    case 'map':
    case 'any':
      return {};
    default:
      return unreachable(schema);
  }
}

function isEmpty(schema: Schema, value: unknown): boolean {
  if (value === '' || value === 0 || value === null || value === false) return true;
  switch (schema.type) {
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
      return value === emptyMap;
    default:
      return false;
  }
}

function describeType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isRawNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
