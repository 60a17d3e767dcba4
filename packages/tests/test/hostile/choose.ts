import type { Random } from '@cluster-apiserver/base';

/** One of several, each as likely as another; for a heavier weight it stands there more than once. */
export function choose<T>(random: Random, all: readonly T[]): T {
  return all[random.below(all.length)] as T; // nobody chooses from nothing
}

/** From one to `most` of them, in any order and with repetitions. */
export const chooseSome = <T>(random: Random, all: readonly T[], most: number): T[] =>
  Array.from({ length: 1 + random.below(most) }, () => choose(random, all));

export const bytesOf = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.below(256)));
