import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { BoundedCache, bytesOfText, bytesOfValue, ExpiringCache, keepText } from './index.ts';

describe('a bounded cache', () => {
  test('evicts the least recently used entry', () => {
    const evicted: number[] = [];
    const cache = new BoundedCache<number>({ entriesMax: 2, onEvict: (value) => evicted.push(value) });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
    expect([evicted, cache.size]).toEqual([[2], 2]);
  });

  test('of no entries keeps none', () => {
    const cache = new BoundedCache<number>({ entriesMax: 0 });
    cache.set('a', 1);
    expect(cache.get('a')).toBeUndefined();
  });

  test('knows to an eighth of its entries which is the least recently used', () => {
    const cache = new BoundedCache<number>({ entriesMax: 80 });
    for (let entry = 0; entry < 800; entry++) {
      cache.set(String(entry), entry);
      cache.get('0');
    }
    expect(cache.get('0')).toBe(0);
    expect(cache.get('700')).toBeUndefined();
  });

  test('is bounded in bytes, and keeps no entry that is larger alone', () => {
    const cache = new BoundedCache<string>({ entriesMax: 100, bytesMax: 10, bytesOf: (_, { length }) => length });
    cache.set('a', 'aaaa');
    cache.set('b', 'bbbb');
    cache.set('a', 'aaaaa');
    expect([cache.get('b'), cache.get('a')]).toEqual(['bbbb', 'aaaaa']);
    cache.set('c', 'cc');
    expect([...cache.values()]).toEqual(['aaaaa', 'cc']);
    cache.set('a', 'aaaaaaaaaaa');
    expect([...cache.values()]).toEqual(['cc']);
  });
});

test('expired entries are not returned, and go when any other is used', () => {
  const clock = fakeClock();
  const cache = new ExpiringCache<string>(clock, { entriesMax: 10 });
  cache.set('a', 'short', 1_000);
  cache.set('b', 'long', 60_000);
  clock.advance(999);
  expect(cache.get('a')).toBe('short');
  clock.advance(1);
  expect([cache.get('a'), cache.get('b')]).toEqual([undefined, 'long']);
  clock.advance(9_000);
  expect([cache.get('b'), cache.size]).toEqual(['long', 1]);
  clock.advance(60_000);
  cache.set('c', 'other', 1_000);
  expect(cache.size).toBe(1);
});

describe('a text that is kept', () => {
  const textBytes = 1_000_000;

  test('does not hold the text that it is a part of', () => {
    const before = usedHeapBytes();
    const kept = Array.from({ length: 50 }, (_, at) => keepText(String(at).padEnd(textBytes, 'x'), 4_096));
    expect(usedHeapBytes() - before).toBeLessThan(5 * textBytes);
    expect(kept).toHaveLength(50);
  });

  test.each(['', 'short', 'é', '日本', '\ud83d\ude00', '\ud83d', 'a\udc00b'])('has the same letters: %j', (text) => {
    expect(keepText(text)).toBe(text);
  });

  test('is cut', () => {
    expect(keepText('a'.repeat(20), 13)).toBe('a'.repeat(13));
    expect(keepText('\ud83d\ude00', 1)).toBe('\ud83d');
  });
});

test('the bytes of a value are those of its texts', () => {
  const value = { name: 'n', groups: ['a'.repeat(100), 'b'.repeat(200)], extra: { key: ['v'] }, uid: undefined };
  expect(bytesOfValue(value)).toBeGreaterThan(600);
  expect(bytesOfValue(value)).toBeLessThan(1_200);
  expect(bytesOfValue('text')).toBe(bytesOfText('text'));
});
