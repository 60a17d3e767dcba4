import { normalizeSemver, numberNames, parseSemver, type Semver } from '../values/semver.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload, withCost } from './overload.ts';

/** A version may have a hundred parts. */
const steps = 16;

/** Kubernetes' functions for versions. With `true` they are read as people write them: `v1.30`. */
export const semvers: readonly Overload[] = [
  defineFunction(
    'semver(string) -> kubernetes.Semver',
    withCost(steps, (text: string) => requireSemver(text, false)),
  ),
  defineFunction('semver(string, bool) -> kubernetes.Semver', withCost(steps, requireSemver)),
  defineFunction(
    'isSemver(string) -> bool',
    withCost(steps, (text: string) => readSemver(text, false) !== undefined),
  ),
  defineFunction(
    'isSemver(string, bool) -> bool',
    withCost(steps, (text: string, normalize: boolean) => readSemver(text, normalize) !== undefined),
  ),
  ...numberNames.map((name) =>
    defineMethod('kubernetes.Semver', `${name}() -> int`, ({ numbers }: Semver) => BigInt.asIntN(64, numbers[name])),
  ),
  pairMethod('isGreaterThan(kubernetes.Semver) -> bool', (one, other) => one.compare(other) > 0),
  pairMethod('isLessThan(kubernetes.Semver) -> bool', (one, other) => one.compare(other) < 0),
  pairMethod('compareTo(kubernetes.Semver) -> int', (one, other) => BigInt(one.compare(other))),
];

function readSemver(text: string, normalize: boolean): Semver | undefined {
  const whole = normalize ? normalizeSemver(text) : text;
  return whole === undefined ? undefined : parseSemver(whole);
}

function requireSemver(text: string, normalize: boolean): Semver {
  const version = readSemver(text, normalize);
  if (!version) throw new EvaluationError('not a semantic version such as 1.2.3');
  return version;
}

function pairMethod(signature: string, run: (one: Semver, other: Semver) => Value): Overload {
  return defineMethod('kubernetes.Semver', signature, withCost(steps, run));
}
