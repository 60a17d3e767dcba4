import { Opaque } from './value.ts';

/** By their weight. */
export const numberNames = ['major', 'minor', 'patch'] as const;
type SemverNumbers = Readonly<Record<(typeof numberNames)[number], bigint>>;

/** A version as Semantic Versioning 2.0 has it. */
export class Semver extends Opaque {
  override readonly typeName = 'kubernetes.Semver';
  readonly numbers: SemverNumbers;
  /** The identifiers of a pre-release; those of digits are numbers. */
  readonly preRelease: readonly (bigint | string)[];

  constructor(numbers: SemverNumbers, preRelease: readonly (bigint | string)[]) {
    super();
    this.numbers = numbers;
    this.preRelease = preRelease;
  }

  override get size(): number {
    return semverLengthMax;
  }

  override equals(other: Opaque): boolean {
    return other instanceof Semver && this.compare(other) === 0;
  }

  /** Build metadata says nothing about the order. */
  compare(other: Semver): -1 | 0 | 1 {
    for (const name of numberNames) {
      const order = compareParts(this.numbers[name], other.numbers[name]);
      if (order !== 0) return order;
    }
    const [one, two] = [this.preRelease, other.preRelease];
    // A release comes after all of its pre-releases.
    if (one.length === 0 || two.length === 0) return compareParts(BigInt(two.length), BigInt(one.length));
    for (const [index, part] of one.entries()) {
      const others = two[index];
      if (others === undefined) return 1;
      const order = compareParts(part, others);
      if (order !== 0) return order;
    }
    return one.length < two.length ? -1 : 0;
  }
}

/** Numbers come before texts. */
function compareParts(one: bigint | string, other: bigint | string): -1 | 0 | 1 {
  if (one === other) return 0;
  if (typeof one !== typeof other) return typeof one === 'bigint' ? -1 : 1;
  return one < other ? -1 : 1;
}

const uintMax = 2n ** 64n - 1n;
const number = '(0|[1-9]\\d{0,19})';
const form = new RegExp(`^${number}\\.${number}\\.${number}(?:-([0-9A-Za-z.-]+))?(?:\\+([0-9A-Za-z.-]+))?$`);

/** Versions are compared part by part, so a long one would be work each time. */
const semverLengthMax = 256;

/** Undefined when the text is none. */
export function parseSemver(text: string): Semver | undefined {
  if (text.length > semverLengthMax) return undefined;
  const [, major, minor, patch, preRelease = '', build = ''] = form.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const numbers = { major: BigInt(major), minor: BigInt(minor), patch: BigInt(patch) };
  const identifiers = preRelease === '' ? [] : preRelease.split('.');
  const isSound =
    numberNames.every((name) => numbers[name] <= uintMax) &&
    identifiers.every((part) => part !== '' && (!/^\d+$/.test(part) || isNumber(part))) &&
    (build === '' || build.split('.').every((part) => part !== ''));
  return isSound
    ? new Semver(
        numbers,
        identifiers.map((part) => (/^\d+$/.test(part) ? BigInt(part) : part)),
      )
    : undefined;
}

const isNumber = (part: string): boolean => /^(0|[1-9]\d{0,19})$/.test(part) && BigInt(part) <= uintMax;

/** As people write versions: `v1.30`, `1.02.3`. What is missing is zero. */
export function normalizeSemver(text: string): string | undefined {
  if (text.length > semverLengthMax) return undefined;
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.');
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join('.')])];
  if (rest.length === 0 && /[+-]/.test(minor ?? major)) return undefined;
  const trimmed = parts.map((part) =>
    part.length > 1 ? part.replace(/^0+(?=\d)/, '').replace(/^0+(?!\d)/, '0') : part,
  );
  while (trimmed.length < 3) trimmed.push('0');
  return trimmed.join('.');
}
