import { isJsonObject, isRawNumber, type JsonObject } from '@cluster-apiserver/model/json';
import { jsonDepthMax, tooDeep } from './json-depth.ts';
import { type MapEntry, MapValue, type Value } from './value.ts';

/**
 * An object of the API. Whole numbers are ints, a property that is not there is no key, and names mean themselves: what
 * the rules of authentication escape is not escaped here, as in kube-apiserver. A policy looks at a few fields of a large
 * object, so a part becomes a value when it is looked at.
 */
class JsonMap extends MapValue {
  readonly json: JsonObject;
  readonly #depth: number;
  /** Objects and lists that were looked at. */
  #parts: Map<string, Value> | undefined;
  #names: readonly string[] | undefined;

  constructor(json: JsonObject, depth: number) {
    super();
    this.json = json;
    this.#depth = depth;
  }

  get size(): number {
    return this.#ownNames().length;
  }

  get(key: Value): Value | undefined {
    return typeof key === 'string' && Object.hasOwn(this.json, key) ? this.#valueOf(key) : undefined;
  }

  *entries(): Iterable<MapEntry> {
    for (const name of this.#ownNames()) yield [name, this.#valueOf(name) ?? null];
  }

  #ownNames(): readonly string[] {
    this.#names ??= Object.keys(this.json).filter((name) => this.json[name] !== undefined);
    return this.#names;
  }

  #valueOf(name: string): Value | undefined {
    const json = this.json[name];
    if (json === undefined) return undefined;
    if (typeof json !== 'object' || json === null) return fromApiJson(json);
    const known = this.#parts?.get(name);
    if (known !== undefined) return known;
    const value = fromApiJson(json, this.#depth + 1);
    this.#parts ??= new Map();
    this.#parts.set(name, value);
    return value;
  }
}

/** JSON of the API as a value. */
export function fromApiJson(json: unknown, depth = 0): Value {
  if (depth > jsonDepthMax) throw tooDeep();
  switch (typeof json) {
    case 'string':
    case 'boolean':
      return json;
    case 'number':
      return Number.isInteger(json) && Math.abs(json) < 2 ** 63 ? BigInt(json) : json;
    case 'object':
      if (isJsonObject(json)) return new JsonMap(json, depth);
      if (Array.isArray(json)) return json.map((element) => fromApiJson(element, depth + 1));
      return isRawNumber(json) ? fromNumberText(json.rawJSON) : null;
    default:
      return null;
  }
}

/** A number whose text JavaScript would write otherwise. As in Go, what is no int64 is a double: `1.0`, `1e3`. */
function fromNumberText(text: string): Value {
  const whole = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  return whole !== undefined && BigInt.asIntN(64, whole) === whole ? whole : Number(text);
}
