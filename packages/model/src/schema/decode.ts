import { getOwn, setOwn, unreachable } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject, requireObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { formatPath, type Path, Problems, type Step } from '../problems.ts';
import { StatusError } from '../status.ts';
import { AddedDefaults, readDefaults, writtenDefaults } from './added-defaults.ts';
import { decodeNumber, decodeScalar, wrongType } from './decode-scalars.ts';
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
  /**
   * In structural objects: whether fields of metadata that have wrong types are left out, of embedded resources also kind and
   * apiVersion. Otherwise they are an error.
   */
  readonly leavesOutMalformed?: boolean;
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
export class Decoder {
  readonly #path: Step[] = [];
  readonly #unknownField: (path: Path) => void;
  readonly #keepsNulls: boolean;
  readonly #addsDefaults: boolean;
  readonly #hugeDefaults: DecodeOptions['hugeDefaults'];
  readonly #leavesOutMalformed: boolean;
  readonly #added: AddedDefaults;
  readonly #problems: Problems | undefined;
  /** How many values of one of two types hold the value that is decoded. */
  #unions = 0;
  /** Parts of a large value that have been decoded, with what they were decoded by. */
  #parts: Map<object, { readonly by: unknown; readonly decoded: unknown }> | undefined;
  readonly #fail = (problem: string): WrongTypeError => new WrongTypeError([...this.#path], problem);

  constructor(
    unknownField: (path: Path) => void,
    {
      keepsNulls = false,
      addsDefaults = true,
      hugeDefaults = 'refused',
      leavesOutMalformed = false,
      storedBytes,
      problems,
    }: DecodeOptions,
  ) {
    this.#unknownField = unknownField;
    this.#keepsNulls = keepsNulls;
    this.#addsDefaults = addsDefaults;
    this.#hugeDefaults = hugeDefaults;
    this.#leavesOutMalformed = leavesOutMalformed;
    this.#added = new AddedDefaults(storedBytes === undefined ? writtenDefaults : readDefaults(storedBytes));
    this.#problems = problems;
  }

  root(schema: ObjectSchema, value: unknown): unknown {
    return this.#problems ? this.#validated(schema, value, this.#problems) : this.object(schema, value);
  }

  /** Decodes a part of a large value, which is found where the value is decoded as a whole. */
  decodePart({ step, value, inner, by, isKept }: Part): void {
    const decoded = isKept ? this.#keptAt(step, inner, value) : this.#below(step, inner, value);
    this.#parts ??= new Map();
    this.#parts.set(value, { by, decoded });
  }

  /** The members of a canonical value are what they are decoded to, wherever another value has the same ones. */
  keepMembers(schema: ObjectSchema, canonical: object): void {
    this.#parts ??= new Map();
    for (const [name, member] of Object.entries(canonical)) {
      const by = memberSchema(schema, name);
      if (by && typeof member === 'object' && member !== null) this.#parts.set(member, { by, decoded: member });
    }
  }

  /** Whether it is a part that has been decoded. */
  hasPart(value: object): boolean {
    return this.#parts?.has(value) ?? false;
  }

  /** The steps to the value that is decoded. */
  get path(): Step[] {
    return this.#path;
  }

  #partOf(by: unknown, value: unknown): unknown {
    if (!this.#parts || typeof value !== 'object' || value === null) return undefined;
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
      case 'boolean':
      case 'int32':
      case 'int64':
      case 'double':
      case 'intOrString':
      case 'quantity':
      case 'time':
      case 'microTime':
        return decodeScalar(schema.type, value, this.#fail);
      case 'map':
        return this.#map(schema, value);
      case 'list':
        return this.#list(schema, value);
      case 'object':
        return schema.otherwise ? this.#union(schema, schema.otherwise.schema, value) : this.object(schema, value);
      case 'any':
        return schema.contents === undefined ? value : this.#free(value, schema.contents);
      default:
        return unreachable(schema);
    }
  }

  /** As kube-apiserver reads the two types: what is neither an object nor a list is no value of one that may be a list. */
  #union(schema: ObjectSchema, other: Schema, value: unknown): unknown {
    this.enterUnion();
    try {
      if (isJsonObject(value)) return this.object(schema, value);
      return other.type === 'list' && !Array.isArray(value) ? undefined : this.#value(other, value);
    } finally {
      this.leaveUnion();
    }
  }

  /** What follows is in a value of one of two types. Go reads those by code of their own, which reports no unknown fields. */
  enterUnion(): void {
    this.#unions++;
  }

  leaveUnion(): void {
    this.#unions--;
  }

  /** Prunes, drops nulls and fills in defaults. Values of wrong types stay. What is canonical already is not copied. */
  #structural(schema: ObjectSchema, { first, added, embeddedResource }: Structural, source: JsonObject): JsonObject {
    const given = Object.keys(source);
    const missing = added.filter((name) => !Object.hasOwn(source, name));
    const names = inOrder([...given, ...missing], first);
    let out: Record<string, unknown> | undefined;
    for (const [at, name] of names.entries()) {
      const member = memberSchema(schema, name);
      if (!member) {
        this.#reportUnknown(name);
        out ??= membersOf(source, names.slice(0, at));
        continue;
      }
      const field = schema.fields.get(name);
      const isStrict = field && isStrictIn(embeddedResource, name, member);
      const raw = getOwn(source, name);
      const value = !isStrict
        ? this.#keptAt(name, member, raw)
        : this.#leavesOutMalformed
          ? this.#wellFormed(field, raw)
          : embeddedResource
            ? this.#ofResource(field, raw)
            : this.#field(field, raw);
      if (!out && (name !== given[at] || !Object.is(value, raw))) out = membersOf(source, names.slice(0, at));
      if (out && value !== undefined) setOwn(out, name, value);
    }
    return out ?? source;
  }

  /** The value of a field, or what of its members is of the right type. */
  #wellFormed(field: Field, raw: unknown): unknown {
    const depth = this.#path.length;
    const decoded = (value: unknown): { readonly value: unknown } | undefined => {
      try {
        return { value: this.#field(field, value) };
      } catch (error) {
        if (!(error instanceof WrongTypeError)) throw error;
        this.#path.length = depth;
        return undefined;
      }
    };
    const whole = decoded(raw);
    if (whole || !isJsonObject(raw)) return whole?.value;
    const members = Object.entries(raw).filter(([name, member]) => decoded({ [name]: member }));
    return decoded(Object.fromEntries(members))?.value;
  }

  /** Errors name the kind, the version or the metadata of an embedded resource as a whole, as in kube-apiserver. */
  #ofResource(field: Field, raw: unknown): unknown {
    const depth = this.#path.length;
    try {
      return this.#field(field, raw);
    } catch (error) {
      if (!(error instanceof WrongTypeError)) throw error;
      const path = [...this.#path.slice(0, depth), field.name];
      const inside = formatPath(error.path.slice(path.length));
      const problem = field.schema.type === 'string' ? 'must be a string' : error.problem;
      const shown = (JSON.stringify(raw) ?? '').slice(0, shownCharactersMax);
      throw new WrongTypeError(path, `${inside ? `${inside}: ` : ''}${problem}`, `Invalid value: ${shown}: `);
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
    if (value === null) return schema.nullable ? null : (this.#default(schema) ?? this.#nullOf(schema));
    if (schema.type === 'object' && isJsonObject(value)) return this.object(schema, value);
    if (schema.type !== 'list' || !Array.isArray(value)) return this.#free(value, freeContents(schema));
    return sameOr(
      value,
      value.map((entry: unknown, index) => this.#keptAt(index, schema.items, entry) ?? null),
    );
  }

  /** A null is kept where the schema wants a type: validation refuses it. */
  #nullOf({ type }: Schema): null | undefined {
    return this.#keepsNulls && type !== 'any' ? null : undefined;
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
    if (Array.isArray(value)) return this.#freeList(value, contents);
    if (isRawNumber(value)) return decodeNumber(value, this.#fail);
    if (contents === 'owned') return this.#freeObject(requireObject(value));
    const unknown = Object.keys(value).sort();
    for (const name of unknown) this.#reportUnknown(name);
    return unknown.length === 0 ? value : {};
  }

  #freeList(entries: readonly unknown[], contents: 'owned' | 'emptied'): readonly unknown[] {
    return sameOr(
      entries,
      entries.map((entry, index) => this.#freeAt(index, entry, contents)),
    );
  }

  /** What is canonical already is not copied: V8 makes objects of many members slowly. */
  #freeObject(value: JsonObject): object {
    let changed: Map<string, unknown> | undefined;
    let isSorted = true;
    let previous = '';
    for (const name in value) {
      const kept = this.#freeAt(name, value[name], 'owned');
      if (!Object.is(kept, value[name])) (changed ??= new Map()).set(name, kept);
      if (name < previous) isSorted = false;
      previous = name;
    }
    if (isSorted && !changed) return value;
    const out: Record<string, unknown> = {};
    for (const name of Object.keys(value).sort())
      setOwn(out, name, changed?.has(name) ? changed.get(name) : value[name]);
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

  /** Many members may be unknown far down. */
  #reportUnknown(name: string): void {
    if (this.#unions > 0) return;
    const isDeep = this.#path.length > reportedStepsMax;
    this.#unknownField(isDeep ? [...this.#path.slice(0, reportedStepsMax), '…'] : [...this.#path, name]);
  }

  #wrongType(wanted: string, got: unknown): WrongTypeError {
    return this.#fail(wrongType(wanted, got));
  }
}

const sameOr = (given: readonly unknown[], kept: readonly unknown[]): readonly unknown[] =>
  kept.every((entry, index) => Object.is(entry, given[index])) ? given : kept;

function membersOf(source: JsonObject, names: readonly string[]): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of names) setOwn(out, name, getOwn(source, name));
  return out;
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

/** An object or list in a value that is decoded by itself. */
export interface Part {
  readonly step: Step;
  readonly value: object;
  readonly inner: Schema;
  /** What the decoder looks for it by. */
  readonly by: unknown;
  readonly isKept: boolean;
}

/** What a value of a structural object keeps of its members if the schema, perhaps one of another type, describes none. */
export function freeContents(schema: Schema): 'owned' | 'emptied' {
  const described = schema.type === 'object' ? schema.rest : schema;
  return described?.type === 'any' ? (described.contents ?? 'owned') : 'emptied';
}

/** A member of a structural object that is decoded by its type, and not kept as it is. */
export const isStrictIn = (embeddedResource: boolean, name: string, member: Schema): boolean =>
  isDeclared(member) || (embeddedResource && typeNames.has(name));

const isDeclared = (schema: Schema): boolean =>
  schema.type === 'map' || (schema.type === 'object' && !schema.structural);

const typeNames = new Set(['kind', 'apiVersion']);

function inOrder(names: string[], first: readonly string[]): readonly string[] {
  names.sort();
  if (first.length === 0) return names;
  return [...first.filter((name) => names.includes(name)), ...names.filter((name) => !first.includes(name))];
}

/** The steps to an unknown member that are reported; no known kind has half as many. */
const reportedStepsMax = 32;

/** A single instance, since counting the keys of a large map takes milliseconds. */
const emptyMap: Record<string, unknown> = Object.freeze({});

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
