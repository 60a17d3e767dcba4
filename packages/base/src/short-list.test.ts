import { expect, test } from '@jest/globals';
import { ShortList } from './index.ts';

test('a ShortList has its items in order of insertion, and deletes each once', () => {
  const list = new ShortList<string>();
  for (const item of ['a', 'b', 'c']) list.add(item);
  list.delete('b');
  list.delete('b');
  expect([...list]).toEqual(['a', 'c']);
  expect(list.size).toBe(2);
});

test('a ShortList that changes during a visit visits the items that it had at first', () => {
  const list = new ShortList<string>();
  for (const item of ['a', 'b', 'c']) list.add(item);
  const visited: string[] = [];
  for (const item of list) {
    list.delete(item);
    list.add(`${item}'`);
    visited.push(item);
  }
  expect(visited).toEqual(['a', 'b', 'c']);
  expect([...list]).toEqual(["a'", "b'", "c'"]);
});
