import { normalizeSemver, parseSemver, type Semver } from '../values/semver.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { costing, fn, method, type Overload } from './overload.ts';

/** A version may have a hundred parts. */
const steps = 16;

/** Kubernetes' functions for versions. With `true` they are read as people write them: `v1.30`. */
export const semvers: readonly Overload[] = [
  fn(
    'semver(string) -> kubernetes.Semver',
    costing(steps, (text: string) => required(text, false)),
  ),
  fn('semver(string, bool) -> kubernetes.Semver', costing(steps, required)),
  fn(
    'isSemver(string) -> bool',
    costing(steps, (text: string) => read(text, false) !== undefined),
  ),
  fn(
    'isSemver(string, bool) -> bool',
    costing(steps, (text: string, normalize: boolean) => read(text, normalize) !== undefined),
  ),
  ...['major', 'minor', 'patch'].map((name, index) =>
    method('kubernetes.Semver', `${name}() -> int`, ({ numbers }: Semver) =>
      BigInt.asIntN(64, numbers[index] as bigint),
    ),
  ),
  ofTwo('isGreaterThan(kubernetes.Semver) -> bool', (one, other) => one.compare(other) > 0),
  ofTwo('isLessThan(kubernetes.Semver) -> bool', (one, other) => one.compare(other) < 0),
  ofTwo('compareTo(kubernetes.Semver) -> int', (one, other) => BigInt(one.compare(other))),
];

function read(text: string, normalize: boolean): Semver | undefined {
  const whole = normalize ? normalizeSemver(text) : text;
  return whole === undefined ? undefined : parseSemver(whole);
}

function required(text: string, normalize: boolean): Semver {
  const version = read(text, normalize);
  if (!version) throw new EvaluationError('not a semantic version such as 1.2.3');
  return version;
}

function ofTwo(signature: string, run: (one: Semver, other: Semver) => Value): Overload {
  return method('kubernetes.Semver', signature, costing(steps, run));
}
