import type { Budget } from '../run/budget.ts';
import { ConstructedObject, JsonPatchOperation } from './constructed.ts';
import { pairsByIdentity } from './unordered-list.ts';
import {
  Duration,
  EvaluationError,
  MapValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';

/** Values of different types are different, except that numbers are compared by what they count. */
export function equal(left: Value, right: Value, budget: Budget): boolean {
  const [one, other] = [magnitude(left), magnitude(right)];
  if (one !== undefined && other !== undefined) return compareOrdered(one, other) === 0;
  if (left instanceof Opaque && right !== null) {
    budget.charge(Math.floor(left.size / 16));
    return equalOpaque(left, right);
  }
  if (left === null || typeof left !== 'object' || right === null || typeof right !== 'object') return left === right;
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right, budget);
  if (left instanceof MapValue) return right instanceof MapValue && equalMaps(left, right, budget);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && compareBytes(left, right) === 0;
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanoseconds === right.nanoseconds;
  if (left instanceof Duration) return right instanceof Duration && left.nanoseconds === right.nanoseconds;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof Optional) return right instanceof Optional && equalIfAny(left.value, right.value, budget);
  if (left instanceof ConstructedObject) return right instanceof ConstructedObject && equalObjects(left, right, budget);
  if (left instanceof JsonPatchOperation)
    return right instanceof JsonPatchOperation && equalOperations(left, right, budget);
  return false;
}

/** Only unknown types get here mixed: the checker compares a value with one of its type, or with null. */
function equalOpaque(left: Opaque, right: Value): boolean {
  if (right instanceof Opaque && left.typeName === right.typeName) return left.equals(right);
  throw new EvaluationError('no such overload');
}

function equalLists(left: readonly Value[], right: readonly Value[], budget: Budget): boolean {
  if (left.length !== right.length) return false;
  budget.charge(left.length);
  const pairs = pairsByIdentity(left, right);
  if (!pairs) return left.every((element, index) => equalIfAny(element, right[index], budget));
  budget.charge(2 * left.length);
  for (let next = pairs.next(); next.done !== true; next = pairs.next())
    if (!equalIfAny(next.value[0], next.value[1], budget)) return false;
  return true;
}

function equalMaps(left: MapValue, right: MapValue, budget: Budget): boolean {
  if (left.size !== right.size) return false;
  budget.charge(left.size);
  for (const [key, value] of left.entries()) {
    const other = right.get(key);
    if (other === undefined || !equal(value, other, budget)) return false;
  }
  return true;
}

function equalObjects(left: ConstructedObject, right: ConstructedObject, budget: Budget): boolean {
  if (left.typeName !== right.typeName || left.fields.size !== right.fields.size) return false;
  budget.charge(left.fields.size);
  return [...left.fields].every(([name, value]) => equalIfAny(value, right.fields.get(name), budget));
}

const equalOperations = (left: JsonPatchOperation, right: JsonPatchOperation, budget: Budget): boolean =>
  left.op === right.op &&
  left.path === right.path &&
  left.from === right.from &&
  equalIfAny(left.value, right.value, budget);

const equalIfAny = (left: Value | undefined, right: Value | undefined, budget: Budget): boolean =>
  left === undefined || right === undefined ? left === right : equal(left, right, budget);

/** The number behind an int, a uint or a double. */
function magnitude(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

/** Undefined where there is no order, as with NaN or between types. */
export function compare(left: Value, right: Value): number | undefined {
  const [one, other] = [magnitude(left), magnitude(right)];
  if (one !== undefined && other !== undefined) return compareOrdered(one, other);
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  if (left instanceof Timestamp && right instanceof Timestamp)
    return compareOrdered(left.nanoseconds, right.nanoseconds);
  if (left instanceof Duration && right instanceof Duration) return compareOrdered(left.nanoseconds, right.nanoseconds);
  return undefined;
}

/** Next to a double everything is one, with the digits that it can hold. */
function compareOrdered(left: bigint | number, right: bigint | number): number | undefined {
  if (typeof left !== typeof right) return compareOrdered(Number(left), Number(right));
  if (left < right) return -1;
  if (left > right) return 1;
  return left >= right ? 0 : undefined;
}

/** By code points; UTF-16 would put the rarer planes before U+E000. */
function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  let at = 0;
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  if (at === length) return left.length - right.length;
  const [one, other] = [left.charCodeAt(at), right.charCodeAt(at)];
  const planes = Number(isSurrogate(one)) - Number(isSurrogate(other));
  return planes === 0 ? one - other : planes;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;

const compareBytes = (left: Uint8Array, right: Uint8Array): number => Buffer.compare(left, right);
