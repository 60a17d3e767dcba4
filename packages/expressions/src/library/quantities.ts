import { parseQuantity, type Quantity, quantityOfInt, requireQuantity } from '../values/quantity.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { costing, fn, method, type Overload } from './overload.ts';

const zero = quantityOfInt(0n);

/** Each number may have hundreds of digits, and is brought to the exponent of another. */
const steps = 8;

/** Kubernetes' functions for quantities such as `500m` and `1.5Gi`. */
export const quantities: readonly Overload[] = [
  fn('quantity(string) -> kubernetes.Quantity', costing(steps, requireQuantity)),
  fn(
    'isQuantity(string) -> bool',
    costing(steps, (text: string) => parseQuantity(text) !== undefined),
  ),
  fn('sign(kubernetes.Quantity) -> int', (quantity: Quantity) => BigInt(quantity.compare(zero))),
  ofQuantity('isInteger() -> bool', (quantity: Quantity) => quantity.toInt() !== undefined),
  ofQuantity('asInteger() -> int', (quantity: Quantity) => {
    const value = quantity.toInt();
    if (value === undefined) throw new EvaluationError('cannot convert value to integer');
    return value;
  }),
  ofQuantity('asApproximateFloat() -> double', (quantity: Quantity) => quantity.toDouble()),
  ofTwo('isGreaterThan(kubernetes.Quantity) -> bool', (one, other) => one.compare(other) > 0),
  ofTwo('isLessThan(kubernetes.Quantity) -> bool', (one, other) => one.compare(other) < 0),
  ofTwo('compareTo(kubernetes.Quantity) -> int', (one, other) => BigInt(one.compare(other))),
  ofTwo('add(kubernetes.Quantity) -> kubernetes.Quantity', (one, other) => one.plus(other)),
  ofTwo('sub(kubernetes.Quantity) -> kubernetes.Quantity', (one, other) => one.plus(other.negated())),
  ofQuantity('add(int) -> kubernetes.Quantity', (one: Quantity, other: bigint) => one.plus(quantityOfInt(other))),
  ofQuantity('sub(int) -> kubernetes.Quantity', (one: Quantity, other: bigint) => one.plus(quantityOfInt(-other))),
];

function ofQuantity(signature: string, run: Overload['run']): Overload {
  return method('kubernetes.Quantity', signature, costing(steps, run));
}

function ofTwo(signature: string, run: (one: Quantity, other: Quantity) => Value): Overload {
  return ofQuantity(signature, run);
}
