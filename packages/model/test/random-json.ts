import { type Random, setOwn } from '@cluster-apiserver/base';

/** A hundred thousand rounds take seconds, and minutes on a machine that is busy with other things. */
export const patienceMs = 300_000;

/** All that generators ask for. */
export type Draws = Pick<Random, 'below'>;

/** Those that go wrong elsewhere. */
export const names = ['a', 'b', '', '0', '1', '-', 'a/b', '~', '__proto__', 'constructor', 'length'];

export const oneOf = <T>(random: Draws, choices: readonly T[]): T => choices[random.below(choices.length)] as T;

export const randomName = (random: Draws): string => oneOf(random, names);

function randomValue(random: Draws, depth: number): unknown {
  switch (random.below(depth > 0 ? 9 : 6)) {
    case 0:
      return null;
    case 1:
      return random.below(3);
    case 2:
      return random.below(2) === 0;
    case 3:
    case 4:
    case 5:
      return oneOf(random, ['', 'x', 'y']);
    case 6:
      return Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
    default:
      return randomMap(random, depth - 1);
  }
}

export function randomMap(random: Draws, depth: number): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (let left = random.below(4); left > 0; left--) setOwn(map, randomName(random), randomValue(random, depth));
  return map;
}

/** The same text for equal values, whatever the order of their members. */
export function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${sortedText(member)}`);
  return `{${members.sort().join(',')}}`;
}
