import { getOwn, type SyncTask } from '@cluster-apiserver/base';
import { decodeBase64, type ListSchema, type ObjectSchema, type Schema } from '@cluster-apiserver/model/schema';
import { isJsonObject, isRawNumber, type JsonObject, numberOf } from '@cluster-apiserver/model/json';
import { Budget } from '../run/budget.ts';
import { unescapeName } from '../values/escaped-name.ts';
import { fromApiJson } from '../values/json-map.ts';
import { parseTimestamp, parseWordyDuration } from '../values/time.ts';
import { toJson } from '../values/to-json.ts';
import { markUnordered } from '../values/unordered-list.ts';
import { EvaluationError, type MapEntry, MapValue, type Value } from '../values/value.ts';
import { mapValues, ruleMember } from './schema-type.ts';

/** From this many entries on a list is made into values in steps, before an expression reads it. */
const largeListMin = 256;
/** Parts of a value that are looked at, or made, in one step. */
const partsPerStep = 1_000;

/** Whether a value may hold a list. A map of simple values may be large, and is not looked into. */
const mayHoldList = (schema: Schema): boolean => {
  if (schema.type !== 'object') return schema.type === 'list';
  const values = mapValues(schema);
  return !values || mayHoldList(values);
};

/**
 * JSON as values of the types that rules of its structural schema know. A value is made when it is read, once for all
 * rules that read it; the JSON may not change meanwhile.
 */
export class TypedValues {
  readonly #made = new Map<object, Value>();

  /** Throws an `EvaluationError` for JSON that the schema refuses. */
  valueOf(schema: Schema, json: unknown): Value {
    if (typeof json !== 'object' || json === null || isRawNumber(json)) return scalarOf(schema, json);
    const known = this.#made.get(json);
    if (known !== undefined) return known;
    const value = this.#make(schema, json);
    this.#made.set(json, value);
    return value;
  }

  /** Makes the large lists in a value, which would take too long when an expression reads them. */
  *prepare(whole: Schema, value: unknown): SyncTask<void> {
    const lists: { readonly schema: ListSchema; readonly json: readonly unknown[] }[] = [];
    const open: [Schema, unknown][] = [[whole, value]];
    let visited = 0;
    for (let next = open.pop(); next; next = open.pop()) {
      const [schema, json] = next;
      if (++visited % partsPerStep === 0) yield;
      if (schema.type === 'list' && Array.isArray(json)) {
        const { items } = schema;
        if (json.length >= largeListMin) lists.push({ schema, json });
        if (mayHoldList(items)) for (const entry of json) open.push([items, entry]);
      } else if (schema.type === 'object' && isJsonObject(json))
        for (const name in json) {
          const member = getOwn(json, name);
          const inner = typeof member === 'object' ? ruleMember(schema, name) : undefined;
          if (inner && mayHoldList(inner)) open.push([inner, member]);
        }
    }
    // Those inside come later.
    for (const { schema, json } of lists.toReversed()) yield* this.#prepareList(schema, json);
  }

  *#prepareList(schema: ListSchema, json: readonly unknown[]): SyncTask<void> {
    const list: Value[] = [];
    try {
      for (const [index, entry] of json.entries()) {
        list.push(this.valueOf(schema.items, entry));
        if (index % partsPerStep === 0) yield;
      }
    } catch (error) {
      // The expression that reads it fails in the same way.
      if (error instanceof EvaluationError) return;
      throw error;
    }
    this.#made.set(json, withIdentities(schema, list));
  }

  #make(schema: Schema, json: object): Value {
    switch (schema.type) {
      case 'list':
        if (!Array.isArray(json)) throw unexpected(schema, json);
        return withIdentities(
          schema,
          json.map((entry) => this.valueOf(schema.items, entry)),
        );
      case 'object':
        if (!isJsonObject(json)) throw unexpected(schema, json);
        return new TypedMap(this, schema, json);
      case 'any':
        return fromApiJson(json);
      default:
        throw unexpected(schema, json);
    }
  }
}

/** An object or a map. A field that is null is not there. */
class TypedMap extends MapValue {
  readonly #values: TypedValues;
  readonly #schema: ObjectSchema;
  readonly #json: JsonObject;
  readonly #isObject: boolean;
  #names: readonly string[] | undefined;

  constructor(values: TypedValues, schema: ObjectSchema, json: JsonObject) {
    super();
    this.#values = values;
    this.#schema = schema;
    this.#json = json;
    this.#isObject = mapValues(schema) === undefined;
  }

  get size(): number {
    return this.#allNames().length;
  }

  get(key: Value): Value | undefined {
    return typeof key === 'string' ? this.#member(key) : undefined;
  }

  override select(key: Value): Value | undefined {
    return typeof key === 'string' ? this.#member(this.#isObject ? unescapeName(key) : key) : undefined;
  }

  /** With what no expression can name: two objects are equal only if these parts are. */
  *entries(): Iterable<MapEntry> {
    for (const name of this.#allNames()) {
      const value = this.#member(name);
      if (value !== undefined) yield [name, value];
    }
  }

  override keys(): Iterable<Value> {
    return this.#isObject ? super.keys() : this.#allNames();
  }

  #allNames(): readonly string[] {
    this.#names ??= Object.keys(this.#json);
    return this.#names;
  }

  #member(name: string): Value | undefined {
    const json = getOwn(this.#json, name);
    if (json === undefined || (json === null && this.#isObject)) return undefined;
    const schema = ruleMember(this.#schema, name);
    return schema ? this.#values.valueOf(schema, json) : fromApiJson(json);
  }
}

/** Marks sets and lists with keys, whose order has no meaning. */
function withIdentities({ sharing }: ListSchema, list: readonly Value[]): readonly Value[] {
  if (sharing === 'atomic') return list;
  return sharing === 'set'
    ? markUnordered(list, identityOf)
    : markUnordered(list, (entry) => identityOfEntry(entry, sharing.keys));
}

const identityOfEntry = (entry: Value, [first, ...others]: readonly [string, ...string[]]): unknown =>
  others.length === 0
    ? identityOf(memberOf(entry, first))
    : JSON.stringify([first, ...others].map((key) => String(identityOf(memberOf(entry, key)))));

const memberOf = (entry: Value, key: string): Value | undefined =>
  entry instanceof MapValue ? entry.get(key) : undefined;

/** The same for equal values: itself if it is simple. */
const identityOf = (value: Value | undefined): unknown =>
  typeof value === 'object' ? JSON.stringify(toJson(value, new Budget(Number.POSITIVE_INFINITY))) : value;

function scalarOf(schema: Schema, json: unknown): Value {
  if (json === null) {
    if (schema.nullable || schema.type === 'any') return null;
    throw new EvaluationError('invalid data, got null for schema with nullable=false');
  }
  switch (schema.type) {
    case 'string':
      if (typeof json === 'string') return textOf(schema.rules?.format?.name, json);
      break;
    case 'boolean':
      if (typeof json === 'boolean') return json;
      break;
    case 'int32':
    case 'int64':
    case 'intOrString': {
      if (schema.type === 'intOrString' && typeof json === 'string') return json;
      const whole = fromApiJson(json);
      if (typeof whole === 'bigint') return whole;
      break;
    }
    case 'double':
      if (typeof json === 'number' || isRawNumber(json)) return numberOf(json);
      break;
    case 'any':
      return fromApiJson(json);
    default:
  }
  throw unexpected(schema, json);
}

/** Digits of a second that no timestamp has. */
const beyondNanoseconds = /(?<=[.,]\d{9})\d+/;

/** A text of a format. Validation has refused wrong ones, except those that an update leaves as they were. */
function textOf(format: string | undefined, text: string): Value {
  switch (format) {
    case 'byte': {
      const bytes = decodeBase64(text);
      if (!bytes) throw new EvaluationError(`Invalid byte formatted string ${text}`);
      return bytes;
    }
    case 'date':
      return parseTimestamp(`${text}T00:00:00Z`);
    case 'date-time':
      return parseTimestamp(text.toUpperCase().replace(beyondNanoseconds, ''));
    case 'duration':
      return parseWordyDuration(text);
    default:
      return text;
  }
}

/** In the words of kube-apiserver. A value of another type stays where an update leaves it as it was. */
const unexpected = ({ type }: Schema, json: unknown): EvaluationError =>
  new EvaluationError(`invalid data, expected ${compoundTypes[type] ?? `${simpleTypes[type]}, got ${goTypeOf(json)}`}`);

const goTypeOf = (json: unknown): string => {
  if (Array.isArray(json)) return '[]interface {}';
  if (isRawNumber(json)) return 'int64';
  if (typeof json === 'number') return Number.isInteger(json) ? 'int64' : 'float64';
  return typeof json === 'object' ? 'map[string]interface {}' : typeof json === 'boolean' ? 'bool' : typeof json;
};

const simpleTypes: Partial<Record<Schema['type'], string>> = {
  string: 'string',
  int32: 'int',
  int64: 'int',
  double: 'float',
  boolean: 'bool',
};

const compoundTypes: Partial<Record<Schema['type'], string>> = {
  list: 'an array for the provided schema with type=array',
  object: 'a map for the provided schema with type=object',
  intOrString: 'XIntOrString value to be either a string or integer',
};
