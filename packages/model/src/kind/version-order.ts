/** v1, v2beta3 and the like. */
const form = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;

/**
 * The order in which Kubernetes lists versions: stable ones, beta and alpha, the highest first, and then all other names as
 * texts.
 */
export function compareVersions(left: string, right: string): number {
  const [one, other] = [form.exec(left), form.exec(right)];
  if (!one || !other) return one ? -1 : other ? 1 : left < right ? -1 : left > right ? 1 : 0;
  const byStability = stability(one[2]) - stability(other[2]);
  return byStability || Number(other[1]) - Number(one[1]) || Number(other[3] ?? 0) - Number(one[3] ?? 0);
}

const stability = (word: string | undefined): number => (word === undefined ? 0 : word === 'beta' ? 1 : 2);
