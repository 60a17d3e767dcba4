import { parseQuantity, type Quantity, quantityLengthMax } from '@cluster-apiserver/model';
import { EvaluationError, Opaque } from './value.ts';

export class QuantityValue extends Opaque {
  override readonly typeName = 'kubernetes.Quantity';
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  override get size(): number {
    return quantityLengthMax;
  }

  override equals(other: Opaque): boolean {
    return other instanceof QuantityValue && this.quantity.compare(other.quantity) === 0;
  }
}

export function requireQuantity(text: string): QuantityValue {
  const quantity = parseQuantity(text);
  if (!quantity) throw new EvaluationError(describeFault(text));
  return new QuantityValue(quantity);
}

/** In the words of kube-apiserver. */
const describeFault = (text: string): string =>
  form.test(text)
    ? "unable to parse quantity's suffix"
    : `quantities must match the regular expression '${form.source}'`;

const form = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/;
