import { expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { HistoryLimit } from './history-limit.ts';

/** The limit, what became of those who entered, and how their waits end. */
function opened() {
  const timers = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (_, callback) => {
      timers.add(callback);
      return () => timers.delete(callback);
    },
  };
  const limit = new HistoryLimit(clock);
  const fates: ('waiting' | 'reading' | 'refused')[] = [];
  const leaves: (() => void)[] = [];
  const enter = (count: number): void => {
    for (let n = 0; n < count; n++) {
      const at = fates.push('waiting') - 1;
      leaves.push(
        limit.enter(
          () => (fates[at] = 'reading'),
          () => (fates[at] = 'refused'),
        ),
      );
    }
  };
  const countOf = (fate: string): number => fates.filter((one) => one === fate).length;
  return { enter, leaves, fates, countOf, expire: () => timers.forEach((callback) => callback()), timers };
}

test('a few read, a bounded number waits, and a crowd is refused at once', () => {
  const { enter, countOf, fates } = opened();
  enter(110);
  expect([countOf('reading'), countOf('waiting'), countOf('refused')]).toEqual([8, 100, 2]);
  expect(fates.slice(-2)).toEqual(['refused', 'refused']);
});

test('a place that is given back goes to who waits longest, however often it is given back', () => {
  const { enter, leaves, fates, countOf } = opened();
  enter(10);
  leaves[3]?.();
  leaves[3]?.();
  expect(fates[8]).toBe('reading');
  expect(fates[9]).toBe('waiting');
  expect(countOf('reading')).toBe(9); // the one that left included
});

test('who stops waiting is not called back', () => {
  const { enter, leaves, fates } = opened();
  enter(10);
  leaves[8]?.();
  leaves[0]?.();
  expect(fates[8]).toBe('waiting');
  expect(fates[9]).toBe('reading');
});

test('nobody waits for ever', () => {
  const { enter, expire, countOf, timers } = opened();
  enter(20);
  expect(timers.size).toBe(12);
  expire();
  expect([countOf('reading'), countOf('refused')]).toEqual([8, 12]);
});
