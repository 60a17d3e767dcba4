import { expect, test } from '@jest/globals';
import { array, assert, boolean, integer, property, tuple } from 'fast-check';
import { beginEdit, SortedSet } from './sorted-set.ts';

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

test('a set that changes in place under edits contains what a copied one does, and what was handed out never changes', () => {
  assert(
    property(array(tuple(boolean(), keys, boolean()), { minLength: 1, maxLength: 1_500, size: 'max' }), (script) => {
      let [inPlace, copied] = [SortedSet.empty<Item>(), SortedSet.empty<Item>()];
      let edit = beginEdit();
      const handedOut: { readonly set: SortedSet<Item>; readonly items: readonly Item[] }[] = [];
      script.forEach(([add, key, isHandedOut], version) => {
        const item = { key, version };
        inPlace = add ? inPlace.with(item, edit) : inPlace.without(key, edit);
        copied = add ? copied.with(item) : copied.without(key);
        if (!isHandedOut || version % 50 > 0) return;
        handedOut.push({ set: inPlace, items: itemsOf(copied) });
        edit = beginEdit();
      });
      expect(itemsOf(inPlace)).toEqual(itemsOf(copied));
      for (const { set, items } of [...handedOut, { set: inPlace, items: itemsOf(copied) }]) {
        expect(itemsOf(set)).toEqual(items);
        expect(set.size).toBe(items.length);
        items.forEach(({ key }, at) => expect(set.countBefore(key)).toBe(at));
      }
    }),
    { numRuns: 100, seed: 1 },
  );
});

test('a set that grows at its end in place is the same one, with nodes that are not half empty', () => {
  const edit = beginEdit();
  const set = SortedSet.empty<Item>().with({ key: '', version: 0 }, edit);
  for (let n = 0; n < 40_000; n++)
    expect(set.with({ key: `k${String(n).padStart(5, '0')}`, version: n }, edit)).toBe(set);
  const runs: number[] = [];
  set.visitRuns('', (items) => runs.push(items.length) > 0);
  expect(set.size).toBe(40_001);
  expect(runs.length).toBeLessThan(40_001 / 30);
});
