import { expect, test } from '@jest/globals';
import { LongList } from './index.ts';

test('a LongList has its items in order of insertion, and deletes each once', () => {
  const list = new LongList<string>();
  const entries = ['a', 'b', 'c', 'b'].map((item) => list.add(item));
  const [, second] = entries as [never, (typeof entries)[0]];
  list.delete(second);
  list.delete(second);
  expect([...list]).toEqual(['a', 'c', 'b']);
  expect(list.size).toBe(3);
});
