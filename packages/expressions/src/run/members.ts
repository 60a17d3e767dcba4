import { EvaluationError, FieldsValue, MapValue, Optional, Uint, type Value } from '../values/value.ts';
import { typeNameOf } from '../values/type-name.ts';
import type { Frame, Plan } from './frame.ts';

/** `a.b`, `has(a.b)` and `a.?b` */
export function planSelect(operand: Plan, field: string, mode: 'value' | 'presence' | 'optional'): Plan {
  if (mode === 'presence') return (frame) => hasMember(operand(frame), field);
  if (mode === 'optional') return (frame) => optionalOf(memberOf(operand(frame), field), frame);
  return (frame) => {
    const container = operand(frame);
    if (container instanceof FieldsValue) return container.member(field);
    const found = memberOf(container, field);
    if (container instanceof Optional) return optionalOf(found, frame);
    if (found === undefined) throw new EvaluationError(`no such key: ${field}`);
    return found;
  };
}

/** `a[b]`. The error shows a computed key only if that is allowed. */
export function planIndex(operand: Plan, index: Plan, showsKey: boolean): Plan {
  return (frame) => {
    const container = operand(frame);
    const key = index(frame);
    const found = elementOf(container, key);
    if (container instanceof Optional) return optionalOf(found, frame);
    if (found !== undefined) return found;
    const what = Array.isArray(container) ? 'index out of bounds' : 'no such key';
    throw new EvaluationError(showsKey ? `${what}: ${describeKey(key)}` : what);
  };
}

/** `a[?b]` */
export const planOptionalIndex =
  (operand: Plan, index: Plan): Plan =>
  (frame) =>
    optionalOf(elementOf(operand(frame), index(frame)), frame);

/** What is not there costs nothing in kube-apiserver's units. */
function optionalOf(found: Value | undefined, { budget }: Frame): Optional {
  if (found === undefined) budget.charge(0, -1);
  return new Optional(found);
}

function describeKey(key: Value): string {
  if (key instanceof Uint) return String(key.value);
  return typeof key === 'object' && key !== null ? typeNameOf(key) : String(key);
}

const hasMember = (container: Value, field: string): boolean =>
  container instanceof FieldsValue ? container.has(field) : memberOf(container, field) !== undefined;

/** Undefined when it is not there, as in everything that has no members at all. */
function memberOf(container: Value, field: Value): Value | undefined {
  if (container instanceof MapValue) return container.select(field);
  if (container instanceof Optional)
    return container.value === undefined ? undefined : memberOf(container.value, field);
  if (Array.isArray(container)) throw new EvaluationError(`unsupported index type '${typeNameOf(field)}' in list`);
  return undefined;
}

/** A list has no element at half an index, and at none outside of it. */
function elementOf(container: Value, key: Value): Value | undefined {
  const within = container instanceof Optional ? container.value : container;
  if (!Array.isArray(within)) return within === undefined ? undefined : memberOf(within, key);
  const index = numericIndex(key);
  return index >= 0 && index < within.length ? within[index] : undefined;
}

function numericIndex(key: Value): number {
  const index = key instanceof Uint ? key.value : key;
  if ((typeof index === 'bigint' || typeof index === 'number') && Number.isInteger(Number(index))) return Number(index);
  throw new EvaluationError(`unsupported index type '${typeNameOf(key)}' in list`);
}
