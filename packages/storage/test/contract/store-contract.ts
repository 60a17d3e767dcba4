/** The promises of Store, as tests. Every implementation and everything laid over one calls this with a way to open it. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import {
  KeyExistsError,
  PreconditionFailedError,
  RevisionCompactedError,
  RevisionMismatchError,
  RevisionTooLargeError,
} from '../../src/errors.ts';
import { type Revision, revision } from '../../src/revision.ts';
import type { Call, Change, ChangeSet, Entry, FollowedStore } from '../../src/store.ts';

export interface StoreUnderTest {
  readonly store: FollowedStore;
  /** Keys of this test begin with it, and no others do. */
  readonly prefix: string;
  compact(oldest: Revision): Promise<void>;
  close(): Promise<void>;
}

export function describeStoreContract(implementation: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${implementation} fulfils the contract of a store:`, () => {
    let subject: StoreUnderTest;
    let store: FollowedStore;
    let key: (name: string) => string;
    const watches: AbortController[] = [];

    beforeEach(async () => {
      subject = await open();
      store = subject.store;
      key = (name) => subject.prefix + name;
    });
    afterEach(async () => {
      for (const watch of watches.splice(0)) watch.abort();
      await subject.close();
    });

    const put = (name: string, value = name): Promise<Revision> => store.create(key(name), bytes(value), {}, call());
    const names = (stored: readonly { key: string }[]): readonly string[] =>
      stored.map((one) => one.key.slice(subject.prefix.length));
    const head = async (): Promise<Revision> => (await store.get(key('head'), call())).revision;
    const watch = (after: Revision, prefix = subject.prefix): AsyncIterator<ChangeSet> => {
      const abort = new AbortController();
      watches.push(abort);
      return store.watch(prefix, after, abort.signal)[Symbol.asyncIterator]();
    };
    const describeChange = (change: Change): string => {
      const text = (entry: Entry): string => (entry.unreadable ? 'unreadable' : entry.value.toString());
      const name = change.key.slice(subject.prefix.length);
      return `${name}: ${change.previous ? text(change.previous) : '-'} to ${change.current ? text(change.current) : '-'}`;
    };

    test('a created value is read as it was written, at the returned revision', async () => {
      const value = Buffer.from([0, 1, 2, 0xff, 0xfe]);
      const created = await store.create(key('a'), value, {}, call());
      const { stored, revision: at } = await store.get(key('a'), call());
      expect(stored).toEqual({ key: key('a'), value, revision: created, stale: false });
      expect(at).toBeGreaterThanOrEqual(created);
    });

    test('a write whose caller has disconnected is not sent', async () => {
      const created = await put('a');
      const gone = { ...call(), isAborted: true, signal: AbortSignal.abort(new Error('the client left')) };
      for (const write of [
        store.create(key('b'), bytes('b'), {}, gone),
        store.update(key('a'), bytes('b'), created, {}, gone),
        store.delete(key('a'), created, gone),
      ])
        await expect(write).rejects.toThrow('the client left');
      const { entries, revision: at } = await store.list({ prefix: subject.prefix }, call());
      expect(names(entries)).toEqual(['a']);
      expect(at).toBe(created);
    });

    test('a sent write completes after its caller disconnects, and its outcome is known', async () => {
      const gone = new AbortController();
      const leaving: Call = {
        ...call(),
        signal: gone.signal,
        get isAborted() {
          return gone.signal.aborted;
        },
      };
      const writing = store.create(key('a'), bytes('a'), {}, leaving);
      // After the turn in which it is sent, and before any response.
      await new Promise((resolve) => setImmediate(resolve));
      gone.abort(new Error('the client left'));
      const created = await writing;
      expect((await store.get(key('a'), call())).stored?.revision).toBe(created);
    });

    test('a key without a value reads as undefined, at the latest revision', async () => {
      const before = await put('a');
      expect(await store.get(key('nothing'), call())).toEqual({ stored: undefined, revision: before });
    });

    test('a value may be empty', async () => {
      await put('a', '');
      expect((await store.get(key('a'), call())).stored?.value).toHaveLength(0);
    });

    test('a create fails if the key exists, and returns the present value', async () => {
      const first = await put('a', 'first');
      const error = await store.create(key('a'), bytes('second'), {}, call()).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(KeyExistsError);
      expect(error.current).toEqual({ key: key('a'), value: bytes('first'), revision: first, stale: false });
    });

    test('a create fails even with equal bytes, which another client may have written', async () => {
      await put('a', 'same');
      await expect(put('a', 'same')).rejects.toThrow(KeyExistsError);
    });

    test('a create succeeds if all its preconditions hold', async () => {
      const [one, two] = [await put('one'), await put('two')];
      const preconditions = [
        { key: key('one'), revision: one },
        { key: key('two'), revision: two },
      ];
      expect(await store.create(key('a'), bytes('a'), { preconditions }, call())).toBeGreaterThan(two);
    });

    test.each(['written since', 'deleted', 'never there'])(
      'creating fails, and writes nothing, when what it relies on was %s',
      async (what) => {
        const before = what === 'never there' ? await head() : await put('relied-on');
        if (what === 'written since') await store.update(key('relied-on'), bytes('other'), before, {}, call());
        if (what === 'deleted') await store.delete(key('relied-on'), before, call());
        const at = await head();
        const preconditions = [{ key: key('relied-on'), revision: before }];
        const error = await store.create(key('a'), bytes('a'), { preconditions }, call()).catch((thrown) => thrown);
        expect(error).toBeInstanceOf(PreconditionFailedError);
        expect(error.revision).toBe(at);
        expect((await store.get(key('a'), call())).stored).toBeUndefined();
      },
    );

    test('what a creation relies on can be written with it, at the same revision', async () => {
      const [one, two] = [await put('one'), await put('two')];
      const preconditions = [
        { key: key('one'), revision: one, value: bytes('one more') },
        { key: key('two'), revision: two },
      ];
      const created = await store.create(key('a'), bytes('a'), { preconditions }, call());
      const read = async (name: string) => (await store.get(key(name), call())).stored;
      expect(await read('one')).toMatchObject({ value: bytes('one more'), revision: created });
      expect(await read('two')).toMatchObject({ value: bytes('two'), revision: two });
      expect(await read('a')).toMatchObject({ value: bytes('a'), revision: created });
    });

    test('several keys can be created together if none of them exists', async () => {
      const together = (own: string, other: string): Promise<number> => {
        const preconditions = [{ key: key(other), revision: 0, value: bytes(other) }];
        return store.create(key(own), bytes(own), { preconditions }, call());
      };
      const created = await together('a', 'b');
      expect((await store.get(key('b'), call())).stored).toMatchObject({ value: bytes('b'), revision: created });
      await expect(together('c', 'b')).rejects.toThrow(PreconditionFailedError);
      await expect(together('b', 'c')).rejects.toThrow(KeyExistsError);
      expect((await store.get(key('c'), call())).stored).toBeUndefined();
    });

    test.each([
      ['its key exists', true],
      ['another precondition does not hold', false],
    ])('nothing is written with a creation that fails because %s', async (_, exists) => {
      const [one, two] = [await put('one'), await put('two')];
      if (exists) await put('a');
      const preconditions = [
        { key: key('one'), revision: one, value: bytes('one more') },
        { key: key('two'), revision: exists ? two : one },
      ];
      await expect(store.create(key('a'), bytes('a'), { preconditions }, call())).rejects.toThrow();
      expect((await store.get(key('one'), call())).stored).toMatchObject({ value: bytes('one'), revision: one });
    });

    test('nothing can be created within what was ended, and ending it again changes nothing', async () => {
      const [whole, other] = [key('whole'), key('other')];
      const create = (name: string, within: readonly string[]) =>
        store.create(key(name), bytes(name), { within, preconditions: [] }, call());
      await create('a', [whole, other]);
      await store.end(whole, call());
      await store.end(whole, call());
      await expect(create('b', [other, whole])).rejects.toThrow(PreconditionFailedError);
      expect((await store.get(key('b'), call())).stored).toBeUndefined();
      await create('b', [other]);
    });

    test('an existing key is reported before a failed precondition', async () => {
      await put('a', 'first');
      const preconditions = [{ key: key('nothing'), revision: 1 }];
      await expect(store.create(key('a'), bytes('second'), { preconditions }, call())).rejects.toThrow(KeyExistsError);
    });

    test('a deleted key can be created again', async () => {
      const first = await put('a');
      const deleted = await store.delete(key('a'), first, call());
      expect(await put('a')).toBeGreaterThan(deleted);
    });

    test('of many concurrent creates of one key, one succeeds', async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => put('a', `${n}`)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    test('an update replaces what was read', async () => {
      const first = await put('a', 'one');
      const second = await store.update(key('a'), bytes('two'), first, {}, call());
      expect(second).toBeGreaterThan(first);
      expect((await store.get(key('a'), call())).stored).toMatchObject({ value: bytes('two'), revision: second });
    });

    test('an update fails if the key was written since, and returns the present value', async () => {
      const first = await put('a', 'one');
      const second = await store.update(key('a'), bytes('two'), first, {}, call());
      const error = await store.update(key('a'), bytes('three'), first, {}, call()).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(RevisionMismatchError);
      expect(error.current).toMatchObject({ value: bytes('two'), revision: second });
    });

    test('an update with equal bytes fails if the key was written since', async () => {
      const first = await put('a', 'one');
      await store.update(key('a'), bytes('two'), first, {}, call());
      await expect(store.update(key('a'), bytes('two'), first, {}, call())).rejects.toThrow(RevisionMismatchError);
    });

    test.each(['update', 'delete'] as const)('%s fails if the key has no value', async (verb) => {
      const first = await put('a');
      await store.delete(key('a'), first, call());
      const attempt =
        verb === 'update'
          ? store.update(key('a'), bytes('x'), first, {}, call())
          : store.delete(key('a'), first, call());
      const error = await attempt.catch((thrown) => thrown);
      expect(error).toBeInstanceOf(RevisionMismatchError);
      expect(error.current).toBeUndefined();
    });

    test('a deletion fails if the key was written since, and changes nothing', async () => {
      const first = await put('a', 'one');
      await store.update(key('a'), bytes('two'), first, {}, call());
      await expect(store.delete(key('a'), first, call())).rejects.toThrow(RevisionMismatchError);
      expect((await store.get(key('a'), call())).stored?.value).toEqual(bytes('two'));
    });

    test('of many concurrent read-modify-writes, no update is lost', async () => {
      await put('counter', '0');
      const increment = async (): Promise<void> => {
        for (;;) {
          const { stored } = await store.get(key('counter'), call());
          if (!stored) throw new Error('the counter is gone');
          try {
            await store.update(key('counter'), bytes(`${Number(stored.value) + 1}`), stored.revision, {}, call());
            return;
          } catch (error) {
            if (!(error instanceof RevisionMismatchError)) throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: 8 }, increment));
      expect((await store.get(key('counter'), call())).stored?.value).toEqual(bytes('8'));
    });

    test('a list returns the keys with the prefix in byte order', async () => {
      for (const name of ['b', 'a/2', 'é', 'a/10', 'a', 'Z']) await put(name);
      const { entries, remaining } = await store.list({ prefix: subject.prefix }, call());
      expect(names(entries)).toEqual(['Z', 'a', 'a/10', 'a/2', 'b', 'é']);
      expect(remaining).toBe(0);
    });

    test('a list omits keys that only resemble the prefix', async () => {
      for (const name of ['a/1', 'ab/1', 'a', 'b/a/1']) await put(name);
      expect(names((await store.list({ prefix: key('a/') }, call())).entries)).toEqual(['a/1']);
    });

    test('an empty list has a revision', async () => {
      const at = await put('a');
      expect(await store.list({ prefix: key('nothing/') }, call())).toEqual({
        entries: [],
        revision: at,
        remaining: 0,
      });
    });

    test('a limited list returns the remaining count, and continues after its last key at its revision', async () => {
      for (const name of ['1', '2', '3', '4', '5']) await put(name);
      const first = await store.list({ prefix: subject.prefix, limit: 2 }, call());
      expect([names(first.entries), first.remaining]).toEqual([['1', '2'], 3]);
      await put('2b');
      const rest = { prefix: subject.prefix, after: key('2'), revision: first.revision };
      const second = await store.list({ ...rest, limit: 2 }, call());
      expect([names(second.entries), second.remaining, second.revision]).toEqual([['3', '4'], 1, first.revision]);
      const third = await store.list({ ...rest, after: key('4') }, call());
      expect([names(third.entries), third.remaining]).toEqual([['5'], 0]);
    });

    test('a list of thousands is one complete snapshot despite concurrent writes', async () => {
      const count = 2_500;
      await inParallel(count, 50, (n) => put(`n${String(n).padStart(5, '0')}`, 'before'));
      const { entries: read } = await store.list({ prefix: subject.prefix }, call());
      expect(read).toHaveLength(count);
      const [snapshot] = await Promise.all([
        store.list({ prefix: subject.prefix }, call()),
        ...read.slice(-20).map((one) => store.update(one.key, bytes('after'), one.revision, {}, call())),
      ]);
      for (const one of snapshot.entries) expect(one.revision).toBeLessThanOrEqual(snapshot.revision);
      const again = await store.list({ prefix: subject.prefix, revision: snapshot.revision }, call());
      expect(again.entries).toEqual(snapshot.entries);
    });

    test('a list at an older revision returns the state of then', async () => {
      const first = await put('a', 'one');
      const second = await store.update(key('a'), bytes('two'), first, {}, call());
      await store.delete(key('a'), second, call());
      await put('b');
      const then = await store.list({ prefix: subject.prefix, revision: first }, call());
      expect(then.entries).toMatchObject([{ value: bytes('one') }]);
      expect(then.revision).toBe(first);
    });

    test('a list at a compacted or future revision is refused', async () => {
      const first = await put('a');
      const second = await put('b');
      await subject.compact(second);
      await expect(store.list({ prefix: subject.prefix, revision: first }, call())).rejects.toThrow(
        RevisionCompactedError,
      );
      const future = revision((await head()) + 1_000_000);
      await expect(store.list({ prefix: subject.prefix, revision: future }, call())).rejects.toThrow(
        RevisionTooLargeError,
      );
    });

    test('a watch delivers every change after its revision in order, with the previous value', async () => {
      const start = await put('a', 'one');
      const second = await store.update(key('a'), bytes('two'), start, {}, call());
      const changes = watch(start);
      await store.delete(key('a'), second, call());
      await put('b', 'new');
      expect((await collect(changes, 3)).map(describeChange)).toEqual(['a: one to two', 'a: two to -', 'b: - to new']);
    });

    test('a watch without previous values omits them', async () => {
      const start = await put('a', 'one');
      await store.delete(key('a'), start, call());
      const abort = new AbortController();
      watches.push(abort);
      const set = await firstSet(
        store.watch(subject.prefix, start, abort.signal, { withPrevious: false })[Symbol.asyncIterator](),
      );
      expect(set.changes).toEqual([{ key: key('a'), current: undefined, previous: undefined }]);
    });

    test('the latest revision is that of the last write', async () => {
      const written = await put('a');
      expect(await store.readLatestRevision(call())).toBe(written);
    });

    test('a watch waits for later changes', async () => {
      const changes = watch(await head());
      const next = collect(changes, 1);
      const created = await put('later');
      const [change] = await next;
      expect(change?.current?.revision).toBe(created);
    });

    test('a watch delivers the revision of a deletion, and that of the write before', async () => {
      const created = await put('a');
      const deleted = await store.delete(key('a'), created, call());
      const set = await firstSet(watch(created));
      expect(set.revision).toBe(deleted);
      expect(set.changes).toEqual([
        { key: key('a'), current: undefined, previous: expect.objectContaining({ revision: created }) },
      ]);
    });

    test('a watch delivers no keys outside its prefix', async () => {
      const start = await head();
      await put('other/a');
      await put('mine2');
      await put('mine/a');
      expect((await collect(watch(start, key('mine/')), 1)).map(describeChange)).toEqual(['mine/a: - to mine/a']);
    });

    test('a watch of thousands of past changes misses and repeats none', async () => {
      const start = await head();
      await inParallel(2_500, 50, (n) => put(`${n}`));
      const seen = (await collect(watch(start), 2_500)).map((change) => change.current?.revision ?? 0);
      expect(new Set(seen).size).toBe(2_500);
      expect(seen).toEqual([...seen].sort((one, other) => one - other));
    });

    test('a slow reader of a watch gets all changes', async () => {
      const changes = watch(await head());
      const first = collect(changes, 1);
      await put('first');
      await first;
      const large = 'x'.repeat(100_000);
      await inParallel(60, 10, (n) => put(`${n}`, large));
      expect(await collect(changes, 60)).toHaveLength(60);
    });

    test('a watch from a compacted revision is refused, and one from a kept revision is not', async () => {
      const first = await put('a');
      await put('b');
      const third = await put('c');
      await subject.compact(third);
      await expect(collect(watch(first), 1)).rejects.toThrow(RevisionCompactedError);
      await put('d');
      expect((await collect(watch(third), 1)).map(describeChange)).toEqual(['d: - to d']);
    });

    test('a watch ends when its signal aborts, waiting or not', async () => {
      const abort = new AbortController();
      const iterator = store.watch(subject.prefix, await head(), abort.signal)[Symbol.asyncIterator]();
      const waiting = iterator.next();
      abort.abort();
      expect((await waiting).done).toBe(true);
      const late = store.watch(subject.prefix, await head(), abort.signal)[Symbol.asyncIterator]();
      expect((await late.next()).done).toBe(true);
    });

    test('a value with a time to live expires, not early, and the watch delivers it', async () => {
      const start = await head();
      const writtenMs = performance.now();
      await store.create(key('brief'), bytes('x'), { timeToLiveSeconds: 1 }, call());
      const [, gone] = await collect(watch(start), 2);
      expect(gone && describeChange(gone)).toBe('brief: x to -');
      expect(performance.now() - writtenMs).toBeGreaterThanOrEqual(1_000);
    });

    test('an update without a time to live keeps the value', async () => {
      const created = await store.create(key('a'), bytes('x'), { timeToLiveSeconds: 1 }, call());
      const brief = await store.create(key('b'), bytes('x'), { timeToLiveSeconds: 1 }, call());
      await store.update(key('a'), bytes('y'), created, {}, call());
      await collect(watch(brief), 2);
      expect((await store.get(key('a'), call())).stored?.value).toEqual(bytes('y'));
    });
  });
}

const callTimeoutMs = 10_000;
const call = (): Call => callUntil(systemClock.monotonicMs() + callTimeoutMs);
const bytes = (text: string): Buffer => Buffer.from(text);

async function collect(sets: AsyncIterator<ChangeSet>, count: number): Promise<readonly Change[]> {
  const changes: Change[] = [];
  while (changes.length < count) changes.push(...(await nextSet(sets)).changes);
  return changes;
}

async function firstSet(sets: AsyncIterator<ChangeSet>): Promise<ChangeSet> {
  for (;;) {
    const set = await nextSet(sets);
    if (set.changes.length > 0) return set;
  }
}

async function nextSet(sets: AsyncIterator<ChangeSet>): Promise<ChangeSet> {
  const { done, value } = await sets.next();
  if (done) throw new Error('the watch ended');
  return value;
}

async function inParallel(count: number, width: number, act: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
