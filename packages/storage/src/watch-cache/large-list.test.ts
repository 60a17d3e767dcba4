import { expect, test } from '@jest/globals';
import { chunkItems, LargeList } from './large-list.ts';

test.each([0, 1, chunkItems, chunkItems + 1, 3 * chunkItems])('a list of %d items returns them in order', (size) => {
  const list = new LargeList<number>();
  const expected = Array.from({ length: size }, (_, n) => n);
  for (const n of expected) list.push(n);
  expect([...list]).toEqual(expected);
  expect(list.size).toBe(size);
  expect([list.at(0), list.at(size - 1), list.at(size)]).toEqual([expected[0], expected.at(-1), undefined]);
});

test('a list that begins with a full array continues it', () => {
  const list = new LargeList(Array.from({ length: chunkItems }, (_, n) => n));
  list.push(chunkItems);
  expect(list.size).toBe(chunkItems + 1);
  expect(list.at(chunkItems)).toBe(chunkItems);
  expect([...list].length).toBe(chunkItems + 1);
});
