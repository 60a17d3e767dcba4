import { expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import { CatchUp } from './catch-up.ts';
import type { CacheItem } from './collection-descriptor.ts';
import type { ItemChange } from './change-window.ts';
import type { Changes, ReplayedChanges } from './entry-decoder.ts';

const newest = 100_000;
const decryptedWeight = 5_000;

const itemOf = (at: Revision, weight: number): CacheItem => ({ key: `${at}`, revision: at, weight });

/**
 * Readers of a store in which every revision is a change of some bytes, up to `end`. The changes of `slow` revisions are
 * incomplete until their decryption ends. Decoding a change takes `decodeMs`.
 */
function opened({ end = newest, weight = 1_000, compacted = 0, slow = [] as readonly number[], decodeMs = 0 } = {}) {
  const clock = fakeClock();
  /** Ends the decryptions that have begun, in order. */
  const decryptions: (() => void)[] = [];
  function replayed(at: Revision): ReplayedChanges<CacheItem> {
    if (decodeMs > 0) clock.advance(decodeMs);
    const current = itemOf(at, weight);
    const change: ItemChange<CacheItem> = { key: current.key, revision: at, previous: undefined, current };
    if (!slow.includes(at)) return { revision: at, changes: [change], incomplete: [] };
    const decrypted = new Promise<void>((resolve) => decryptions.push(resolve));
    const completed = decrypted.then(() => ({ ...change, current: itemOf(at, decryptedWeight) }));
    return { revision: at, changes: [change], incomplete: [{ change, completed }] };
  }
  const replays: { readonly after: Revision; read: number; ended: boolean }[] = [];
  async function* replay(after: Revision, signal: AbortSignal): AsyncGenerator<() => ReplayedChanges<CacheItem>> {
    const one = { after, read: 0, ended: false };
    replays.push(one);
    try {
      if (after < compacted) throw new RevisionCompactedError(after, revision(compacted));
      for (let at = revision(after + 1); at <= end && !signal.aborted; at = revision(at + 1)) {
        one.read++;
        yield () => replayed(at);
      }
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    } finally {
      one.ended = true;
    }
  }
  const catchUp = new CatchUp<CacheItem>(replay, clock);
  const read = (after: number, covers = (_key: string): boolean => true) => {
    let wake = (): void => {};
    let wakeUps = 0;
    let sent = revision(after);
    const notify = (): void => {
      wakeUps++;
      wake();
    };
    const reader = catchUp.open(sent, { covers, notify });
    const taken: number[] = [];
    const takenWeights: (number | undefined)[] = [];
    const note = ({ changes, revision: to }: Changes<CacheItem>): void => {
      taken.push(...changes.map((change) => change.revision));
      takenWeights.push(...changes.map(({ current }) => current?.weight));
      sent = to;
    };
    return {
      taken,
      takenWeights,
      wakeUps: () => wakeUps,
      close: () => reader.close(),
      /** Takes what there is now. */
      take: (limit = 100): 'refused' | undefined => {
        const changes = reader.take(sent, limit);
        if (changes === 'refused') return changes;
        if (changes) note(changes);
        return undefined;
      },
      /** Takes until it has as many. */
      until: async (count: number): Promise<void> => {
        for (;;) {
          const changes = reader.take(sent, 100);
          if (changes === 'refused') throw new Error('refused');
          if (changes) note(changes);
          if (taken.length >= count) return;
          if (!changes) await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    };
  };
  return { clock, replays, decryptions, read, catchUp };
}

const turns = async (count = 20): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise(setImmediate);
};
const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n);

test('readers that arrive together share a replay from the oldest on, and each gets everything it missed', async () => {
  const { replays, read } = opened();
  const readers = [500, 300, 301, 2_000, 499].map((after) => ({ after, ...read(after) }));
  await Promise.all(readers.map(({ until }) => until(3_000)));
  for (const { after, taken } of readers) expect(taken.slice(0, 3_000)).toEqual(upFrom(after + 1, 3_000));
  expect(replays.map(({ after }) => after)).toEqual([300]);
  for (const { close } of readers) close();
  await turns();
  expect(replays[0]?.ended).toBe(true);
});

test('only a bounded part is read ahead of the foremost reader', async () => {
  const { replays, read } = opened({ weight: 10_000 });
  const reader = read(1);
  reader.take();
  await turns(100);
  expect(replays[0]?.read).toBeLessThan(150);
  await reader.until(1_000);
  await turns(100);
  expect(replays[0]?.read).toBeLessThan(1_300);
});

test('a slow reader does not delay the others, and continues in another replay', async () => {
  const { replays, read, clock } = opened({ weight: 10_000 });
  const [fast, slow] = [read(1), read(1)];
  slow.take();
  const reading = fast.until(5_000);
  for (let n = 0; n < 200; n++) {
    await turns(1);
    clock.advance(10);
  }
  await reading;
  expect(slow.taken).toEqual([]);
  await slow.until(1_000);
  expect(slow.taken.slice(0, 1_000)).toEqual(upFrom(2, 1_000));
  expect(replays).toHaveLength(2);
});

test('at most two replays run, a reader that waits too long is refused, and all are counted', async () => {
  const { replays, read, clock, catchUp } = opened();
  expect(catchUp.statistics).toEqual({ running: 0, begun: 0, waiting: 0, refused: 0, bufferedBytes: 0 });
  for (const after of [3_000, 2_000]) await read(after).until(1);
  const third = read(1_000);
  third.take();
  await turns();
  expect(replays).toHaveLength(2);
  expect(catchUp.statistics).toMatchObject({ running: 2, begun: 2, waiting: 1, refused: 0 });
  expect(catchUp.statistics.bufferedBytes).toBeGreaterThan(100_000);
  clock.advance(9_999);
  expect(third.take()).toBeUndefined();
  clock.advance(1);
  expect(third.take()).toBe('refused');
  expect(catchUp.statistics).toMatchObject({ running: 0, begun: 2, waiting: 0, refused: 1 });
});

test('a replay ends after its maximum time if readers wait, and its readers queue after them', async () => {
  const { replays, read, clock } = opened({ end: 3_010 });
  const readers = [read(3_000), read(2_000)];
  for (const reader of readers) await reader.until(10);
  clock.advance(25_000);
  const third = read(1_000);
  third.take();
  await turns();
  expect(third.taken).toEqual([]);
  clock.advance(5_000);
  await turns();
  await third.until(2_000);
  expect(third.taken.slice(0, 2_000)).toEqual(upFrom(1_001, 2_000));
  expect(replays.map(({ after }) => after)).toEqual([3_000, 2_000, 1_000]);
});

test('an idle replay ends, and a new one begins where its reader is', async () => {
  const { replays, read, clock } = opened();
  const reader = read(1);
  await reader.until(100);
  await turns(100);
  clock.advance(5_000);
  await turns();
  expect(replays[0]?.ended).toBe(true);
  await reader.until(200);
  expect(reader.taken).toEqual(upFrom(2, 200));
});

test('a replay leaves no timer, whenever its last reader leaves', async () => {
  for (let after = 0; after < 20; after++) {
    const { read, replays, clock } = opened({ weight: 2_000_000, decodeMs: 5 });
    const reader = read(1);
    reader.take();
    await turns(after);
    reader.close();
    await turns();
    expect([clock.waiting, replays.every(({ ended }) => ended)]).toEqual([0, true]);
  }
});

test('compacted changes expire for readers that missed them, and others continue', async () => {
  const { read } = opened({ compacted: 1_000 });
  const [old, newer] = [read(500), read(1_500)];
  const ended = old.until(1).catch((error: unknown) => error);
  await newer.until(100);
  expect(newer.taken).toEqual(upFrom(1_501, 100));
  expect(await ended).toBeInstanceOf(RevisionCompactedError);
});

test('a reader whose changes have expired no longer waits, and is not refused later', async () => {
  const { read, clock, catchUp } = opened({ compacted: 1_000 });
  const reader = read(500);
  reader.take();
  await turns();
  expect(() => reader.take()).toThrow(RevisionCompactedError);
  const wakeUps = reader.wakeUps();
  clock.advance(60_000);
  expect(reader.wakeUps()).toBe(wakeUps);
  expect(catchUp.statistics.refused).toBe(0);
});

test('a reader far ahead of a replay gets a second one', async () => {
  const { replays, read } = opened({ end: 1_000_000 });
  const [behind, ahead] = [read(1), read(500_000)];
  await Promise.all([behind.until(10), ahead.until(10)]);
  expect(replays.map(({ after }) => after)).toEqual([1, 500_000]);
});

test('a change that is still being decrypted delays only the readers that cover it, and is not skipped', async () => {
  const { read, decryptions } = opened({ end: 500, slow: [200, 300] });
  const covering = read(100, (key) => key === '200');
  const other = read(100, (key) => key !== '200' && key !== '300');
  await Promise.all([covering.until(99), other.until(400)]);
  expect(other.taken).toEqual(upFrom(101, 400));
  expect(covering.take()).toBeUndefined();
  expect(covering.taken).toEqual(upFrom(101, 99));
  const wakeUps = covering.wakeUps();
  decryptions[1]?.();
  await turns();
  expect(covering.wakeUps()).toBe(wakeUps);
  decryptions[0]?.();
  await covering.until(400);
  expect(covering.taken).toEqual(upFrom(101, 400));
  expect(covering.takenWeights[99]).toBe(decryptedWeight);
});

test('a reader does not wait longer for a change that is being decrypted than for a replay', async () => {
  const { read, clock } = opened({ end: 500, slow: [200] });
  const reader = read(100);
  await reader.until(99);
  clock.advance(60_000);
  expect(reader.take()).toBeUndefined();
  clock.advance(9_999);
  expect(reader.take()).toBeUndefined();
  clock.advance(1);
  expect(reader.take()).toBe('refused');
});

test('a replay does not wait for a reader that waits for a decryption', async () => {
  const { read, clock } = opened({ end: 5_000, weight: 10_000, slow: [200] });
  const blocked = read(100);
  const ahead = read(3_000, (key) => key !== '200');
  ahead.take();
  await blocked.until(99);
  expect(blocked.take()).toBeUndefined();
  // The replay may have waited for the reader before that had come to the change.
  clock.advance(100);
  await ahead.until(1_000);
  expect(ahead.taken.slice(0, 1_000)).toEqual(upFrom(3_001, 1_000));
});

test('no reader gets changes of a replay that began in a replaced history', async () => {
  const { replays, read, catchUp } = opened({ end: 1_000_000, weight: 10_000 });
  const readers = [read(1), read(500_000), read(900_000)];
  for (const reader of readers) reader.take();
  await turns(100);
  expect(catchUp.statistics).toMatchObject({ running: 2, waiting: 1 });
  catchUp.replaceHistory(new HistoryReplacedError());
  for (const reader of readers) expect(() => reader.take()).toThrow(HistoryReplacedError);
  expect(readers.map(({ wakeUps }) => wakeUps() > 0)).toEqual([true, true, true]);
  expect(catchUp.statistics).toMatchObject({ running: 0, waiting: 0 });
  const after = read(10);
  after.take();
  await turns(100);
  expect(replays.map((one) => [one.after, one.ended])).toEqual([
    [1, true],
    [500_000, true],
    [10, false],
  ]);
});
