import { setOwn } from '@cluster-apiserver/base';
import { rawNumber } from '@cluster-apiserver/model/json';
import type { Budget } from '../run/budget.ts';
import { ConstructedObject } from './constructed.ts';
import { formatDouble } from './double.ts';
import { Duration, EvaluationError, MapValue, Optional, Timestamp, Uint, type Value } from './value.ts';
import { formatDuration, formatTimestamp } from './time.ts';
import { typeNameOf } from './type-name.ts';

/**
 * Converts a value to JSON. Throws an EvaluationError for values that JSON cannot represent. The budget bounds the JSON:
 * lists share their elements, so a few evaluated steps can make a value of 2^40 parts.
 */
export function toJson(value: Value, budget: Budget): unknown {
  budget.charge(1);
  if (typeof value === 'string') budget.charge(Math.floor(value.length / 16));
  if (value instanceof Uint8Array) budget.charge(Math.floor(value.length / 8));
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return integer(value);
  if (typeof value === 'number') return finite(value);
  if (value instanceof Uint) return integer(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof MapValue)
    return toJsonObject(
      Array.from(value.entries(), ([key, held]) => {
        if (typeof key !== 'string') throw new EvaluationError('a map with keys that are no strings is no JSON');
        return [key, held];
      }),
      budget,
    );
  if (value instanceof ConstructedObject) return toJsonObject(value.fields, budget);
  if (value instanceof Optional) {
    if (value.value === undefined) throw new EvaluationError('optional.none() dereference');
    return toJson(value.value, budget);
  }
  if (Array.isArray(value)) return value.map((element) => toJson(element, budget));
  throw new EvaluationError(`a value of type ${typeNameOf(value)} is no JSON`);
}

/** Fields by their names. */
export function toJsonObject(entries: Iterable<readonly [string, Value]>, budget: Budget): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    budget.charge(Math.floor(name.length / 16));
    setOwn(json, name, toJson(value, budget));
  }
  return json;
}

const integer = (value: bigint): unknown =>
  Number.isSafeInteger(Number(value)) ? Number(value) : rawNumber(String(value));

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new EvaluationError(`${formatDouble(value)} is no JSON`);
  return value;
}
