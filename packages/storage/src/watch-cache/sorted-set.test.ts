import { expect, test } from '@jest/globals';
import { array, assert, boolean, integer, property, tuple } from 'fast-check';
import { SortedSet } from './sorted-set.ts';

interface Item {
  readonly key: string;
  readonly version: number;
}

const keys = integer({ min: 0, max: 400 }).map((n) => `k${n}`);
const steps = array(tuple(boolean(), keys), { minLength: 1, maxLength: 1_500, size: 'max' });

const itemsOf = (set: SortedSet<Item>, from = ''): Item[] => {
  const items: Item[] = [];
  set.visit(from, (item) => items.push(item) > 0);
  return items;
};

test('contains and counts what a map would, in order, after random additions and removals', () => {
  assert(
    property(steps, keys, (script, probe) => {
      let set = SortedSet.empty<Item>();
      const model = new Map<string, Item>();
      script.forEach(([add, key], version) => {
        const item = { key, version };
        set = add ? set.with(item) : set.without(key);
        if (add) model.set(key, item);
        else model.delete(key);
      });
      const expected = [...model.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
      expect(itemsOf(set)).toEqual(expected);
      expect(set.size).toBe(expected.length);
      expect(set.get(probe)).toBe(model.get(probe));
      expect(itemsOf(set, probe)).toEqual(expected.filter(({ key }) => key >= probe));
      expect(set.countBefore(probe)).toBe(expected.filter(({ key }) => key < probe).length);
    }),
    { numRuns: 200, seed: 1 },
  );
});

test('an older set never changes', () => {
  let set = SortedSet.empty<Item>();
  for (let n = 0; n < 5_000; n++) set = set.with({ key: `k${String(n).padStart(5, '0')}`, version: n });
  const before = itemsOf(set);
  let other = set;
  for (const { key } of before) other = other.without(key).with({ key: `${key}x`, version: 0 });
  expect(itemsOf(set)).toEqual(before);
  expect(other.size).toBe(5_000);
});

test('a visit ends when the visitor returns false', () => {
  let set = SortedSet.empty<Item>();
  for (let n = 0; n < 200; n++) set = set.with({ key: String.fromCharCode(200 + n), version: n });
  let seen = 0;
  set.visit('', () => ++seen < 100);
  expect(seen).toBe(100);
});

test('removing an absent key returns the same set', () => {
  const set = SortedSet.empty<Item>().with({ key: 'a', version: 1 });
  expect(set.without('b')).toBe(set);
  expect(set.without('a').size).toBe(0);
});

test.each([0, 1, 32, 33, 48, 1_024, 1_025, 40_000])(
  'a set made of %d items at once is that of as many one by one',
  (count) => {
    const items = Array.from({ length: count }, (_, n) => ({ key: `k${String(n).padStart(5, '0')}`, version: n }));
    let [all, single] = [SortedSet.from(items), SortedSet.empty<Item>()];
    for (const item of items) single = single.with(item);
    expect(itemsOf(all)).toEqual(itemsOf(single));
    expect(all.size).toBe(count);
    for (const { key } of items.slice(0, 2_000)) {
      expect(all.countBefore(key)).toBe(single.countBefore(key));
      [all, single] = [
        all.without(key).with({ key: `${key}x`, version: 0 }),
        single.without(key).with({ key: `${key}x`, version: 0 }),
      ];
    }
    expect(itemsOf(all)).toEqual(itemsOf(single));
  },
);
