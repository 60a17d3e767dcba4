import { expect, test } from '@jest/globals';
import { array, assert, constantFrom, property, record } from 'fast-check';
import { PrefixMap } from './prefix-map.ts';

const prefixes = array(constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 }).map(
  (parts) => `${parts.join('/')}/`,
);

test('after any changes a key finds its prefix, and prefixes of one another overlap', () => {
  const steps = array(record({ prefix: prefixes, isSet: constantFrom(true, false) }), { maxLength: 20 });
  assert(
    property(steps, prefixes, (changes, asked) => {
      const map = new PrefixMap<string>();
      const present = new Set<string>();
      for (const { prefix, isSet } of changes) {
        const overlaps = [...present].some((other) => other.startsWith(prefix) || prefix.startsWith(other));
        expect(map.overlaps(prefix)).toBe(overlaps);
        // Overlapping prefixes are never set; a second deletion is one of nothing.
        if (!isSet) map.delete(prefix);
        else if (!overlaps || present.has(prefix)) map.set(prefix, prefix);
        if (!isSet) present.delete(prefix);
        else if (!overlaps) present.add(prefix);
      }
      expect(map.find(`${asked}name`)).toBe([...present].find((prefix) => `${asked}name`.startsWith(prefix)));
      expect([...map.values()].toSorted()).toEqual([...present].toSorted());
    }),
    { seed: 20_261_127 },
  );
});
