import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../errors.ts';
import type { Transformed, UsableKeys } from '../transform/transformer.ts';
import { EntryReader } from './values.ts';

test('a plugin that hangs neither postpones nor shortens the wait for values of another one', async () => {
  const hanging = new Promise<Transformed>(() => {});
  const fromStorage = async (value: Buffer, _: string, __: unknown, keys?: UsableKeys): Promise<Transformed> => {
    if (keys === 'cached') throw new KeyUnavailableError('too many values wait');
    if (value.includes(':hanging:')) return hanging;
    await new Promise(setImmediate);
    return { value, stale: false };
  };
  const reader = new EntryReader({ toStorage: (value) => [value], fromStorage }, systemClock, '/r/'.length);
  const read = async (plugin: string, timeoutMs: number) => {
    const value = Buffer.from(`k8s:enc:kms:v2:${plugin}:x`);
    const entry = await reader.read({ key: '/r/a', value, createRevision: 1, modRevision: 1, lease: 0 }, timeoutMs);
    if (!entry.unreadable) return 'read';
    return entry.postponed ? 'postponed' : 'pending';
  };
  const others = await Promise.all(Array.from({ length: 2_000 }, () => read('hanging', 1)));
  expect(new Set(others)).toEqual(new Set(['pending']));
  expect(await read('hanging', 1)).toBe('postponed');
  expect(await read('other', 60_000)).toBe('read');
});

test('values whose time is over together are not all handled in one turn of the event loop', async () => {
  const fromStorage = (): Promise<Transformed> => new Promise(() => {});
  const reader = new EntryReader({ toStorage: (value) => [value], fromStorage }, systemClock, '/r/'.length);
  const value = { key: '/r/a', value: Buffer.from('x'), createRevision: 1, modRevision: 1, lease: 0 };
  let ended = 0;
  const reads = Array.from({ length: 1_000 }, async () => {
    await reader.read(value, 10);
    ended++;
  });
  let perTurnMax = 0;
  while (ended < reads.length) {
    const before = ended;
    await new Promise(setImmediate);
    perTurnMax = Math.max(perTurnMax, ended - before);
  }
  await Promise.all(reads);
  expect(perTurnMax).toBeLessThan(100);
});
