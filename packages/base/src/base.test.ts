import { expect, test } from '@jest/globals';
import {
  backoff,
  type Clock,
  getOwn,
  invariant,
  formatDuration,
  parseDuration,
  CleanupStack,
  seededRandom,
  errorCode,
  errorMessage,
  requireValue,
  setOwn,
  sleep,
  systemClock,
  systemRandom,
} from './index.ts';

test.each([
  ['0', 0],
  ['500ms', 500],
  ['1.5s', 1500],
  ['1h30m', 5_400_000],
  ['-2m', -120_000],
  ['1h0m0s', 3_600_000],
  ['+2s', 2000],
  ['+0', 0],
  ['-0', 0],
  ['3µs', 0.003],
  ['3μs', 0.003],
  ['', undefined],
  ['5', undefined],
  ['1 h', undefined],
  ['soon', undefined],
  ['1d', undefined],
])('the duration %j is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  [0, '0s'],
  [20, '20ms'],
  [1_500, '1.5s'],
  [60_000, '1m0s'],
  [3_600_000, '1h0m0s'],
  [5_400_500, '1h30m0.5s'],
  [-120_000, '-2m0s'],
])('%s ms are the duration %j', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
  expect(parseDuration(text)).toBe(ms);
});

test('a sleep ends after its delay or with its signal, and leaves no timer', async () => {
  let pending = 0;
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      pending++;
      const cancel = systemClock.after(delayMs, () => {
        pending--;
        callback();
      });
      return () => {
        pending--;
        cancel();
      };
    },
  };
  await sleep(clock, 1);
  const stop = new AbortController();
  const sleeping = sleep(clock, 60_000, stop.signal);
  stop.abort(new Error('enough'));
  await expect(sleeping).rejects.toThrow('enough');
  await expect(sleep(clock, 60_000, stop.signal)).rejects.toThrow('enough');
  expect(pending).toBe(0);
});

test('a cleanup stack closes in reverse and continues after a failure', async () => {
  const closed: string[] = [];
  const failed: string[] = [];
  const cleanup = new CleanupStack();
  cleanup.defer('first', () => void closed.push('first'));
  cleanup.defer('second', () => Promise.reject(new Error('stuck')));
  cleanup.defer('third', () => void closed.push('third'));
  await cleanup.close((what) => failed.push(what));
  await cleanup.close();
  expect([closed, failed]).toEqual([['third', 'first'], ['second']]);
});

test('backoff pauses grow up to their limit, and restart after a reset', () => {
  const pauses = backoff({ firstMs: 10, maxMs: 80 }, seededRandom(1));
  const taken = Array.from({ length: 20 }, () => pauses.nextMs());
  expect(Math.max(...taken)).toBeLessThanOrEqual(81);
  expect(taken.slice(5).every((pause) => pause >= 40)).toBe(true);
  pauses.reset();
  expect(pauses.nextMs()).toBeLessThanOrEqual(11);
});

test('a seed repeats its numbers, and UUIDs are valid', () => {
  const draw = (): number[] => {
    const random = seededRandom(7);
    return Array.from({ length: 10 }, () => random.below(1000));
  };
  expect(draw()).toEqual(draw());
  for (const random of [seededRandom(7), systemRandom()]) {
    expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (let i = 0; i < 3000; i++) expect([0, 1, 2]).toContain(random.below(3));
    const drawn = Array.from({ length: 500 }, () => random.bytes(24).toString('hex'));
    expect(new Set(drawn).size).toBe(500);
    expect(random.bytes(5_000)).toHaveLength(5_000);
  }
});

test('keys that a client chose are plain data', () => {
  const target: Record<string, string> = {};
  setOwn(target, '__proto__', 'x');
  expect(Object.keys(target)).toEqual(['__proto__']);
  expect(getOwn(target, '__proto__')).toBe('x');
  expect(getOwn(target, 'constructor')).toBeUndefined();
});

test('a failed invariant throws its consequence', () => {
  expect(() => invariant(false, 'writes would be lost')).toThrow('writes would be lost');
  expect(() => invariant(1, 'never')).not.toThrow();
});

test('a required value must be there', () => {
  expect(requireValue(0, 'a number')).toBe(0);
  expect(() => requireValue(undefined, 'a list has a first element')).toThrow('a list has a first element');
  expect(() => requireValue(null)).toThrow();
});

test('whatever was thrown has a message, and may have a code', () => {
  expect(errorMessage(new TypeError('no'))).toBe('no');
  expect(errorMessage('thrown text')).toBe('thrown text');
  expect(errorCode(Object.assign(new Error('gone'), { code: 'ENOENT' }))).toBe('ENOENT');
  for (const other of [new Error('plain'), { code: 5 }, null, undefined, 'ENOENT'])
    expect(errorCode(other)).toBeUndefined();
});
