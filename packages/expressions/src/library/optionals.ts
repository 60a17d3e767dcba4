import type { Budget } from '../run/budget.ts';
import { ConstructedObject } from '../values/constructed.ts';
import { Duration, EvaluationError, MapValue, Optional, Timestamp, Uint, type Value } from '../values/value.ts';
import { oldest } from '../values/time.ts';
import { createUnplanned, defineFunction, defineMethod, type Overload } from './overload.ts';

export const optionals: readonly Overload[] = [
  defineFunction('optional.of(A) -> optional(A)', (value: Value) => new Optional(value)),
  defineFunction('optional.ofNonZeroValue(A) -> optional(A)', (value: Value) =>
    isZero(value) ? new Optional() : new Optional(value),
  ),
  defineFunction('optional.none() -> optional(A)', () => new Optional()),
  defineMethod('optional(A)', 'hasValue() -> bool', ({ value }: Optional) => value !== undefined),
  defineMethod('optional(A)', 'value() -> A', ({ value }: Optional) => {
    if (value === undefined) throw new EvaluationError('optional.none() dereference');
    return value;
  }),
  // These two are planned without a call; what stands here for them is their types.
  defineMethod('optional(A)', 'or(optional(A)) -> optional(A)', createUnplanned),
  defineMethod('optional(A)', 'orValue(A) -> A', createUnplanned),
  defineFunction('optional.unwrap(list(optional(A))) -> list(A)', unwrap),
  defineMethod('list(optional(A))', 'unwrapOpt() -> list(A)', unwrap),
];

function unwrap(list: readonly Value[], budget: Budget): Value[] {
  budget.charge(list.length);
  return list.flatMap((element) => {
    if (!(element instanceof Optional)) throw new EvaluationError('no such overload: only optionals can be unwrapped');
    return element.value === undefined ? [] : [element.value];
  });
}

/** Whether a value is the zero value of its type. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Timestamp) return value.nanoseconds === oldest;
  if (value instanceof MapValue) return value.size === 0;
  if (value instanceof ConstructedObject) return value.fields.size === 0;
  return (Array.isArray(value) || value instanceof Uint8Array) && value.length === 0;
}
