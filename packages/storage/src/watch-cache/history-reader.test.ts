import { expect, test } from '@jest/globals';
import { Places, toSyncTask } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet } from '../store.ts';
import type { CacheItem } from './collection-descriptor.ts';
import { HistoryReader } from './history-reader.ts';

const latest = 100_000;

/** Readers of a store in which every revision is a change of some bytes. Revisions before `compacted` are gone. */
function opened({ weight = 1_000, compacted = 0 } = {}) {
  const clock = fakeClock();
  const places = new Places(8);
  let [running, read] = [0, 0];
  async function* open(after: Revision, signal: AbortSignal): AsyncGenerator<ChangeSet> {
    running++;
    signal.addEventListener('abort', () => running--);
    if (after < compacted) throw new RevisionCompactedError(after, revision(compacted));
    for (let at = revision(after + 1); at <= latest && !signal.aborted; at = revision(at + 1)) {
      read++;
      yield { revision: at, changes: [] };
    }
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  }
  const begin = (after: number) => {
    let wake = (): void => {};
    let sent = revision(after);
    const reader = new HistoryReader<CacheItem>({
      clock,
      places,
      open,
      decode: toSyncTask(({ revision: at }) => [
        { key: `${at}`, revision: at, previous: undefined, current: { key: `${at}`, revision: at, weight } },
      ]),
      notify: () => wake(),
      onClose: () => {},
    });
    const taken: number[] = [];
    const take = (): boolean => {
      const changes = reader.take(sent, 100);
      if (!changes) return false;
      taken.push(...changes.changes.map((change) => change.revision));
      sent = changes.revision;
      return true;
    };
    return {
      reader,
      taken,
      take,
      until: async (count: number): Promise<void> => {
        while (taken.length < count) if (!take()) await new Promise<void>((resolve) => (wake = resolve));
      },
    };
  };
  return { clock, places, begin, running: () => running, read: () => read };
}

const turns = async (count = 20): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise(setImmediate);
};
const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n);

test('a reader gets every change in order, and reads only a bounded part ahead', async () => {
  const { begin, read } = opened({ weight: 10_000 });
  const { take, taken, until, reader } = begin(1);
  take();
  await turns(100);
  expect(read()).toBeLessThan(150);
  await until(1_000);
  expect(taken.slice(0, 1_000)).toEqual(upFrom(2, 1_000));
  reader.close();
});

test('eight readers read at a time, and others when one has finished', async () => {
  const { begin, running, clock } = opened();
  const readers = Array.from({ length: 20 }, () => begin(1));
  for (const { take } of readers) take();
  await turns();
  expect(running()).toBe(8);
  for (const { until, reader, taken } of readers) {
    await until(100);
    expect(taken.slice(0, 100)).toEqual(upFrom(2, 100));
    reader.close();
  }
  await turns();
  expect([running(), clock.waiting]).toEqual([0, 0]);
});

test('a reader that waits too long for its place expires', async () => {
  const { begin, clock } = opened();
  const readers = Array.from({ length: 9 }, () => begin(1));
  for (const { take } of readers) take();
  clock.advance(9_999);
  expect(readers[8]?.take()).toBe(false);
  clock.advance(1);
  expect(() => readers[8]?.take()).toThrow(RevisionCompactedError);
  for (const { reader } of readers) reader.close();
  expect(clock.waiting).toBe(0);
});

test('a slow reader returns its place to one that waits, and loses nothing', async () => {
  const { begin, clock, running } = opened({ weight: 10_000 });
  const slow = Array.from({ length: 8 }, () => begin(1));
  for (const { until } of slow) await until(50);
  clock.advance(25_000);
  const next = begin(5);
  next.take();
  clock.advance(5_000);
  await next.until(100);
  expect(next.taken.slice(0, 100)).toEqual(upFrom(6, 100));
  expect(running()).toBe(8);
  next.reader.close();
  for (const { until, taken, reader } of slow) {
    await until(500);
    expect(taken.slice(0, 500)).toEqual(upFrom(2, 500));
    reader.close();
  }
});

test('a reader ends with the error of the store, or that of its collection', async () => {
  const { begin } = opened({ compacted: 1_000 });
  const [old, present] = [begin(500), begin(1_500)];
  await expect(old.until(1)).rejects.toThrow(RevisionCompactedError);
  await present.until(10);
  present.reader.fail(new HistoryReplacedError());
  expect(() => present.take()).toThrow(HistoryReplacedError);
  for (const { reader } of [old, present]) reader.close();
});

test('a reader that is closed at any moment leaves no timer and no watch', async () => {
  for (let after = 0; after < 20; after++) {
    const { begin, running, clock } = opened({ weight: 2_000_000 });
    const { take, reader } = begin(1);
    take();
    await turns(after);
    reader.close();
    await turns();
    expect([running(), clock.waiting]).toEqual([0, 0]);
  }
});
