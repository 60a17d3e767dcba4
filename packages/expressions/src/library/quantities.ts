import { parseQuantity, type Quantity, quantityOfInt } from '@cluster-apiserver/model';
import { QuantityValue, requireQuantity } from '../values/quantity.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload, withCost } from './overload.ts';

const zero = quantityOfInt(0n);

/** Each number may have hundreds of digits, and is brought to the exponent of another. */
const steps = 8;

/** Kubernetes' functions for quantities such as `500m` and `1.5Gi`. */
export const quantities: readonly Overload[] = [
  defineFunction('quantity(string) -> kubernetes.Quantity', withCost(steps, requireQuantity)),
  defineFunction(
    'isQuantity(string) -> bool',
    withCost(steps, (text: string) => parseQuantity(text) !== undefined),
  ),
  defineFunction('sign(kubernetes.Quantity) -> int', ({ quantity }: QuantityValue) => BigInt(quantity.compare(zero))),
  quantityMethod('isInteger() -> bool', (quantity) => quantity.toInt() !== undefined),
  quantityMethod('asInteger() -> int', (quantity) => {
    const value = quantity.toInt();
    if (value === undefined) throw new EvaluationError('cannot convert value to integer');
    return value;
  }),
  quantityMethod('asApproximateFloat() -> double', (quantity) => quantity.toDouble()),
  pairMethod('isGreaterThan(kubernetes.Quantity) -> bool', (one, other) => one.compare(other) > 0),
  pairMethod('isLessThan(kubernetes.Quantity) -> bool', (one, other) => one.compare(other) < 0),
  pairMethod('compareTo(kubernetes.Quantity) -> int', (one, other) => BigInt(one.compare(other))),
  pairMethod('add(kubernetes.Quantity) -> kubernetes.Quantity', (one, other) => new QuantityValue(one.add(other))),
  pairMethod(
    'sub(kubernetes.Quantity) -> kubernetes.Quantity',
    (one, other) => new QuantityValue(one.add(other.negate())),
  ),
  quantityMethod(
    'add(int) -> kubernetes.Quantity',
    (one, other: bigint) => new QuantityValue(one.add(quantityOfInt(other))),
  ),
  quantityMethod(
    'sub(int) -> kubernetes.Quantity',
    (one, other: bigint) => new QuantityValue(one.add(quantityOfInt(-other))),
  ),
];

function quantityMethod(signature: string, run: (one: Quantity, other: never) => Value): Overload {
  const unwrapped = ({ quantity }: QuantityValue, other: never): Value => run(quantity, other);
  return defineMethod('kubernetes.Quantity', signature, withCost(steps, unwrapped));
}

function pairMethod(signature: string, run: (one: Quantity, other: Quantity) => Value): Overload {
  return quantityMethod(signature, (one, other: QuantityValue) => run(one, other.quantity));
}
