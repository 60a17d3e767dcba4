/** How a quantity was written, and so how its canonical form is: `1500m`, `2Gi` or `1500e3`. */
type Notation = 'decimal' | 'binary' | 'exponent';

/**
 * A quantity as Kubernetes writes it: `500m`, `1.5Gi`, `1e3`. It is exact: `units` times ten to the power of
 * `exponent`.
 */
export class Quantity {
  readonly units: bigint;
  readonly exponent: number;
  /** Kept as an int with an exponent. Kubernetes calls only such a quantity an integer, so `1Pi` is none. */
  readonly isCompact: boolean;
  readonly #notation: Notation;

  constructor(units: bigint, exponent: number, isCompact: boolean, notation: Notation = 'decimal') {
    this.units = units;
    this.exponent = exponent;
    this.isCompact = isCompact;
    this.#notation = notation;
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
    const notation = this.units === 0n ? other.#notation : this.#notation;
    return new Quantity(units, exponent, this.isCompact && other.isCompact && fitsInt(units), notation);
  }

  negate(): Quantity {
    return new Quantity(-this.units, this.exponent, this.isCompact, this.#notation);
  }

  /** Undefined if it is none, or none that an int can hold. */
  toInt(): bigint | undefined {
    if (!this.isCompact || this.exponent < 0) return undefined;
    const units = this.#unitsAt(0);
    return fitsInt(units) ? units : undefined;
  }

  /** Whether it has no fraction. */
  get isWhole(): boolean {
    return this.exponent >= 0 || this.units % 10n ** BigInt(-this.exponent) === 0n;
  }

  toDouble(): number {
    const units = Number(this.units);
    return this.exponent === 0 ? units : units * Number(`1e${this.exponent}`);
  }

  /**
   * The canonical form: a whole number and the largest suffix that leaves it whole. Binary suffixes are for whole numbers
   * of 1024 or more.
   */
  toString(): string {
    if (this.units === 0n) return '0';
    const whole = this.#notation === 'binary' ? this.#whole() : undefined;
    if (whole !== undefined && (whole >= 1024n || whole <= -1024n)) return formatBinary(whole);
    let [units, exponent] = [this.units, this.exponent];
    const suffixed = this.#notation !== 'exponent';
    while (units % 10n === 0n) [units, exponent] = [units / 10n, exponent + 1];
    const down = suffixed && exponent > decimalExponentMax ? exponent - decimalExponentMax : ((exponent % 3) + 3) % 3;
    return `${units * 10n ** BigInt(down)}${suffixOf(exponent - down, suffixed)}`;
  }

  #whole(): bigint | undefined {
    if (!this.isWhole) return undefined;
    return this.exponent >= 0 ? this.#unitsAt(0) : this.units / 10n ** BigInt(-this.exponent);
  }

  #unitsAt(exponent: number): bigint {
    return this.units * 10n ** BigInt(this.exponent - exponent);
  }
}

export const quantityOfInt = (value: bigint): Quantity => new Quantity(value, 0, true);

/** More would only make work: a double holds no larger numbers, and no memory or time is measured with such. */
export const quantityLengthMax = 300;
const exponentMax = 300;

/** Smaller amounts are rounded up to this, away from zero, as in Kubernetes. */
const exponentMin = -9;
/** The digits that an int holds whatever they are. */
const compactDigitsMax = 18;
const intMax = 2n ** 63n - 1n;
const fitsInt = (units: bigint): boolean => BigInt.asIntN(64, units) === units;

const decimalExponents: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const decimalExponentMax = 18;
const binaryExponents: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

/** Undefined for a text that is none. */
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
  const notation = /^[eE][+-]?\d/.test(suffix) ? 'exponent' : 'decimal';
  return digits.length <= compactDigitsMax && last >= exponentMin
    ? new Quantity(units, last, true, notation)
    : round(units, last, notation);
}

function readDecimalExponent(suffix: string): number | undefined {
  const known = decimalExponents.get(suffix);
  if (known !== undefined) return known;
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
  const units = digits * 2n ** BigInt(power);
  // Fewer digits stay compact than would fit; who asks for `isInteger` sees the difference.
  const isCompact = fractionDigits === 0 && 14 - wholeDigits - Math.trunc((power * 3) / 10) >= 0;
  if (isCompact) return new Quantity(sign * units, 0, true, 'binary');
  const { units: size, exponent } = round(units, -fractionDigits, 'binary');
  const most = intMax * 10n ** BigInt(-exponent);
  return size > most
    ? new Quantity(sign * intMax, 0, false, 'binary')
    : new Quantity(sign * size, exponent, false, 'binary');
}

function round(units: bigint, exponent: number, notation: Notation): Quantity {
  if (exponent >= exponentMin)
    return new Quantity(units * 10n ** BigInt(exponent - exponentMin), exponentMin, false, notation);
  const by = 10n ** BigInt(exponentMin - exponent);
  const rest = units % by;
  const away = rest === 0n ? 0n : units < 0n ? -1n : 1n;
  return new Quantity(units / by + away, exponentMin, false, notation);
}

const decimalSuffixes = new Map([...decimalExponents].map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = new Map([...binaryExponents].map(([suffix, exponent]) => [exponent, suffix]));

function suffixOf(exponent: number, suffixed: boolean): string {
  const suffix = suffixed ? decimalSuffixes.get(exponent) : undefined;
  return suffix ?? (exponent === 0 ? '' : `e${exponent}`);
}

function formatBinary(whole: bigint): string {
  let [units, exponent] = [whole, 0];
  while (units % 1024n === 0n && binarySuffixes.has(exponent + 10)) [units, exponent] = [units / 1024n, exponent + 10];
  return `${units}${binarySuffixes.get(exponent) ?? ''}`;
}
