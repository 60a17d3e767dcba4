import { EvaluationError, Opaque } from './value.ts';

/**
 * A quantity as Kubernetes writes it: `500m`, `1.5Gi`, `1e3`. It is exact: `units` times ten to the power of
 * `exponent`.
 */
export class Quantity extends Opaque {
  override readonly typeName = 'kubernetes.Quantity';
  readonly units: bigint;
  readonly exponent: number;
  /** Kept as an int with an exponent. Kubernetes calls only such a quantity an integer, so `1Pi` is none. */
  readonly isCompact: boolean;

  constructor(units: bigint, exponent: number, isCompact: boolean) {
    super();
    this.units = units;
    this.exponent = exponent;
    this.isCompact = isCompact;
  }

  override get size(): number {
    return quantityLengthMax;
  }

  override equals(other: Opaque): boolean {
    return other instanceof Quantity && this.compare(other) === 0;
  }

  compare(other: Quantity): -1 | 0 | 1 {
    const exponent = Math.min(this.exponent, other.exponent);
    const [one, two] = [this.#unitsAt(exponent), other.#unitsAt(exponent)];
    if (one === two) return 0;
    return one < two ? -1 : 1;
  }

  add(other: Quantity): Quantity {
    if (this.isCompact && other.isCompact) {
      if (other.units === 0n) return this;
      if (this.units === 0n) return other;
    }
    const exponent = Math.min(this.exponent, other.exponent);
    const units = this.#unitsAt(exponent) + other.#unitsAt(exponent);
    return new Quantity(units, exponent, this.isCompact && other.isCompact && fitsInt(units));
  }

  negate(): Quantity {
    return new Quantity(-this.units, this.exponent, this.isCompact);
  }

  /** Undefined if it is none, or none that an int can hold. */
  toInt(): bigint | undefined {
    if (!this.isCompact || this.exponent < 0) return undefined;
    const units = this.#unitsAt(0);
    return fitsInt(units) ? units : undefined;
  }

  toDouble(): number {
    const units = Number(this.units);
    return this.exponent === 0 ? units : units * Number(`1e${this.exponent}`);
  }

  #unitsAt(exponent: number): bigint {
    return this.units * 10n ** BigInt(this.exponent - exponent);
  }
}

export const quantityOfInt = (value: bigint): Quantity => new Quantity(value, 0, true);

/** More would only make work: a double holds no larger numbers, and no memory or time is measured with such. */
const quantityLengthMax = 300;
const exponentMax = 300;

/** Smaller amounts are rounded up to this, away from zero, as in Kubernetes. */
const exponentMin = -9;
/** The digits that an int holds whatever they are. */
const compactDigitsMax = 18;
const intMax = 2n ** 63n - 1n;
const fitsInt = (units: bigint): boolean => BigInt.asIntN(64, units) === units;

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryExponents: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

/** Undefined when the text is none. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text === '' || text.length > quantityLengthMax) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] =
    /^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[+-]?\d*)$/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole || '0') + fraction;
  const negative = sign === '-';
  const binaryExponent = binaryExponents.get(suffix);
  if (binaryExponent !== undefined)
    return parseBinary(BigInt(digits), (whole || '0').length, fraction.length, binaryExponent, negative);
  const exponent = readDecimalExponent(suffix);
  if (exponent === undefined || Math.abs(exponent) > exponentMax) return undefined;
  const units = (negative ? -1n : 1n) * BigInt(digits);
  const last = exponent - fraction.length;
  return digits.length <= compactDigitsMax && last >= exponentMin
    ? new Quantity(units, last, true)
    : round(units, last);
}

function readDecimalExponent(suffix: string): number | undefined {
  if (Object.hasOwn(decimalExponents, suffix)) return decimalExponents[suffix];
  const [, written] = /^[eE]([+-]?\d+)$/.exec(suffix) ?? [];
  return written === undefined ? undefined : Number(written);
}

function parseBinary(
  digits: bigint,
  wholeDigits: number,
  fractionDigits: number,
  power: number,
  negative: boolean,
): Quantity {
  const sign = negative ? -1n : 1n;
  const units = digits << BigInt(power);
  // Fewer digits stay compact than would fit; who asks for `isInteger` sees the difference.
  const isCompact = fractionDigits === 0 && 14 - wholeDigits - Math.trunc((power * 3) / 10) >= 0;
  if (isCompact) return new Quantity(sign * units, 0, true);
  const { units: size, exponent } = round(units, -fractionDigits);
  const most = intMax * 10n ** BigInt(-exponent);
  return size > most ? new Quantity(sign * intMax, 0, false) : new Quantity(sign * size, exponent, false);
}

function round(units: bigint, exponent: number): Quantity {
  if (exponent >= exponentMin) return new Quantity(units * 10n ** BigInt(exponent - exponentMin), exponentMin, false);
  const by = 10n ** BigInt(exponentMin - exponent);
  const rest = units % by;
  const away = rest === 0n ? 0n : units < 0n ? -1n : 1n;
  return new Quantity(units / by + away, exponentMin, false);
}

export function requireQuantity(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (!quantity) throw new EvaluationError('not a quantity such as 1, 500m or 1.5Gi');
  return quantity;
}
