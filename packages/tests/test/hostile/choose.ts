import type { Random } from '@cluster-apiserver/base';

/** A random element with equal probability; duplicates increase the weight. */
export function choose<T>(random: Random, all: readonly T[]): T {
  return all[random.below(all.length)] as T; // never empty
}

/** One to `most` random elements, in any order and with repetitions. */
export const chooseSome = <T>(random: Random, all: readonly T[], most: number): T[] =>
  Array.from({ length: 1 + random.below(most) }, () => choose(random, all));

export const bytesOf = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.below(256)));
