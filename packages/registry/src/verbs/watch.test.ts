import { describe, expect, test } from '@jest/globals';
import type { StatusError } from '@cluster-apiserver/model';
import type { ChangeSet } from '@cluster-apiserver/storage';
import { update, watch, type WatchReader } from '../index.ts';
import { call, everything } from '../../test/use-robots.ts';
import { labelled, lineOf, next, optionsFor, robot, useWatchedRobots } from '../../test/use-watched-robots.ts';

const watched = useWatchedRobots();
const { begin, make, makeLarge, put, remove, settled } = watched;

describe('the beginning', () => {
  test('without a resourceVersion begins with the current state, in order, and continues with changes', async () => {
    await make('b');
    await make('a');
    const watching = await begin();
    expect(await next(watching, 2)).toEqual(['ADDED a', 'ADDED b']);
    await make('c');
    expect(await next(watching, 1)).toEqual(['ADDED c']);
  });

  test('with sendInitialEvents ends them with a bookmark, even if there are none', async () => {
    const asked = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
    expect(await next(await begin(asked), 1)).toEqual(['BOOKMARK end']);
    await make('a');
    expect(await next(await begin(asked), 2)).toEqual(['ADDED a', 'BOOKMARK end']);
  });

  test('without initial events begins at the current revision', async () => {
    await make('a');
    const watching = await begin({ sendInitialEvents: false, resourceVersionMatch: 'NotOlderThan' });
    await make('b');
    expect(await next(watching, 1)).toEqual(['ADDED b']);
  });

  test('of hundreds of watches that waited for the same revision takes several iterations of the event loop', async () => {
    const watches = 200;
    let begun = 0;
    const opened = Array.from({ length: watches }, async () => {
      const watching = await begin();
      begun++;
      return watching;
    });
    const perIteration: number[] = [];
    while (begun < watches) {
      const before = begun;
      await new Promise(setImmediate);
      perIteration.push(begun - before);
    }
    expect(Math.max(...perIteration)).toBeLessThan(watches / 3);
    for (const watching of await Promise.all(opened)) watching.close();
  });

  test('does not come for watches whose clients left while others began', async () => {
    const left = new AbortController();
    const theirs = {
      ...call,
      signal: left.signal,
      get isAborted() {
        return left.signal.aborted;
      },
    };
    const opened = Array.from({ length: 200 }, async () => {
      const watching = await watch(watched.resource, { ...everything, allowWatchBookmarks: false }, theirs);
      left.abort(new Error('the client left'));
      watching.close();
    });
    const results = await Promise.allSettled(opened);
    const rejected = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    expect(rejected.length).toBeGreaterThan(100);
    expect(new Set(rejected)).toEqual(new Set(['Error: the client left']));
  });

  test('of many objects comes in parts', async () => {
    for (let n = 0; n < 450; n++) await make(`r${n}`);
    const watching = await begin();
    const first = watching.take();
    expect(first?.events.length).toBeLessThan(450);
    expect((await next(watching, 450 - (first?.events.length ?? 0))).length).toBe(450 - (first?.events.length ?? 0));
  });

  test('from a future revision waits for it, and gets no earlier events', async () => {
    const now = await make('a');
    const watching = await begin({ resourceVersion: String(now + 2) });
    await make('b');
    await make('c');
    await make('d');
    expect(await next(watching, 1)).toEqual(['ADDED d']);
  });

  test('with initial events of the future is refused inside the watch', async () => {
    const watching = await begin({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      resourceVersion: '100000',
    });
    expect(() => watching.take()).toThrow(expect.objectContaining({ code: 504 }));
  });
});

describe('memory of the beginning', () => {
  test('is shared by watchers that begin at the same state, whatever happened to other kinds meanwhile', async () => {
    for (let n = 0; n < 60; n++) await makeLarge(`r${n}`, 3_000);
    const first = await begin();
    await watched.memory.create('/registry/others/x', Buffer.from('{}'), {}, call);
    await settled();
    const second = await begin();
    const parts = [first, second].map((watching) => [watching.take(), watching.take(), watching.take()]);
    expect(parts[0]?.[0]).toBeDefined();
    for (const [at, batch] of parts[0]?.entries() ?? []) expect(parts[1]?.[at]).toBe(batch);
  });

  test('is bounded by bytes: a batch has about 32 KiB', async () => {
    for (let n = 0; n < 60; n++) await makeLarge(`r${n}`, 3_000);
    const watching = await begin();
    const counts: number[] = [];
    for (let batch = watching.take(); batch; batch = watching.take()) counts.push(batch.events.length);
    expect(counts.reduce((sum, count) => sum + count)).toBe(60);
    expect(Math.max(...counts)).toBeLessThan(12);
  });

  test('is given back when it keeps too much from being freed, and the watch ends', async () => {
    for (let n = 0; n < 60; n++) await makeLarge(`r${n}`, 3_000);
    const [slow, quick] = [await begin(), await begin()];
    expect(slow.take()).toBeDefined();
    while (quick.take());
    const note = 'x'.repeat(250_000);
    for (let n = 0; n < 150; n++)
      await update(watched.resource, 'r0', robot('r0', {}, { note, n: String(n) }), optionsFor('n'), call);
    await settled();
    expect(slow.take()).toBeUndefined();
    expect(slow.end).toBe('snapshot');
  });

  test('waits for another turn when this one has no time left, and continues where it was', async () => {
    for (let n = 0; n < 300; n++) await make(`r${n}`, { n: String(n) });
    // Each look at the time is one millisecond later, so that a turn has time for a few looks.
    let looks = 0;
    watched.clock.monotonicMs = () => looks++;
    const watching = await begin({ labels: { requirements: [{ key: 'n', operator: 'in', values: ['299'] }] } });
    const slow = await begin({ labels: { requirements: [{ key: 'n', operator: 'notin', values: ['1'] }] } });
    expect(await next(watching, 1)).toEqual(['ADDED r299']);
    let turns = 0;
    let events = 0;
    while (events < 299) {
      const batch = slow.take();
      if (batch) events += batch.events.length;
      else await new Promise<void>((resolve) => slow.wait(resolve)).then(() => turns++);
    }
    expect(turns).toBeGreaterThan(0);
  });
});

describe('what happens', () => {
  test('is sent once to each of many watchers, and built once for all of them', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const all = await Promise.all(Array.from({ length: 5 }, () => begin(from)));
    for (const watching of all) expect(watching.take()).toBeUndefined();
    await make('b');
    await settled();
    const batches = all.map((watching) => watching.take());
    expect(batches[0]?.events.map(lineOf)).toEqual(['ADDED b']);
    expect(new Set(batches).size).toBe(1);
    for (const watching of all) expect(watching.take()).toBeUndefined();
  });

  test('out of scope is not sent', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const [here, one] = [await begin(from), await begin({ ...from, name: 'b' })];
    await make('b', {}, 'n-x');
    await make('c');
    await make('b');
    expect(await next(here, 2)).toEqual(['ADDED c', 'ADDED b']);
    expect(await next(one, 1)).toEqual(['ADDED b']);
  });

  test('is sent to a slow reader from watched.memory, in order and without a gap', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const watching = await begin(from);
    expect(watching.take()).toBeUndefined();
    const expected: string[] = [];
    for (let n = 0; n < 300; n++) {
      await make(`r${n}`);
      expected.push(`ADDED r${n}`);
      if (n % 10 === 0) await settled();
    }
    expect(await next(watching, 300)).toEqual(expected);
    await make('last');
    expect(await next(watching, 1)).toEqual(['ADDED last']);
  });

  test('is sent through a selector as ADDED or DELETED', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')), labels: labelled('x') });
    await put('a', { x: '1' });
    await put('a', { x: '2' });
    const left = await put('a', { y: '1' });
    await put('a', { y: '2' });
    await make('b', { x: '1' });
    await remove('b');
    const lines: string[] = [];
    let leaving: unknown;
    while (lines.length < 5) {
      const batch = watching.take();
      for (const event of batch?.events ?? []) {
        lines.push(lineOf(event));
        if (lineOf(event) === 'DELETED a') leaving = event;
      }
      if (!batch) await new Promise<void>((resolve) => watching.wait(resolve));
    }
    expect(lines).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b', 'DELETED b']);
    // The last state in view, as of the write that ended it.
    expect(leaving).toMatchObject({ revision: left });
    expect(JSON.parse((leaving as { outcome: { json: string } }).outcome.json).metadata).toMatchObject({
      labels: { x: '2' },
      resourceVersion: String(left),
    });
  });

  test('has the revision of the reader, except while there is more to take', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')) });
    expect(watching.reached).toBeUndefined();
    expect(watching.take()).toBeUndefined();
    const elsewhere = await make('b', {}, 'other');
    await settled();
    expect(watching.reached).toBe(elsewhere);
    await make('c');
    await settled();
    expect(watching.reached).toBeUndefined();
  });
});

describe('many watchers', () => {
  test('with a label each get the changes of matching objects', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const isOne = (key: string, ...values: string[]) => ({ requirements: [{ key, operator: 'in' as const, values }] });
    const [one, other, either] = [
      await begin({ ...from, labels: isOne('app', 'one') }),
      await begin({ ...from, labels: isOne('app', 'other') }),
      await begin({ ...from, labels: isOne('app', 'one', 'other') }),
    ];
    for (const watching of [one, other, either]) expect(watching.take()).toBeUndefined();
    await put('a', { app: 'one' });
    await put('a', { app: 'other' });
    await put('a', { app: 'none' });
    expect(await next(one, 2)).toEqual(['ADDED a', 'DELETED a']);
    expect(await next(other, 2)).toEqual(['ADDED a', 'DELETED a']);
    expect(await next(either, 3)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    for (const watching of [one, other, either]) expect(watching.take()).toBeUndefined();
  });

  test('with a label each end at an unreadable object, which may have the label', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const labels = { requirements: [{ key: 'app', operator: 'in' as const, values: ['one'] }] };
    const watching = await begin({ ...from, labels });
    expect(watching.take()).toBeUndefined();
    await watched.memory.create('/registry/robots/n/bad', Buffer.from('{"kind":"Robot"}'), {}, call);
    await settled();
    expect(() => watching.take()).toThrow('/registry/robots/n/bad');
  });

  test('are called back in several turns, each once for a batch', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const all = await Promise.all(Array.from({ length: 200 }, () => begin(from)));
    for (const watching of all) expect(watching.take()).toBeUndefined();
    let looks = 0;
    watched.clock.monotonicMs = () => looks++;
    const woken: WatchReader[] = [];
    for (const watching of all) watching.wait(() => woken.push(watching));
    await make('b');
    let turns = 0;
    while (woken.length < all.length) {
      turns++;
      await new Promise(setImmediate);
    }
    expect(new Set(woken)).toEqual(new Set(all));
    expect(woken).toHaveLength(all.length);
    expect(turns).toBeGreaterThan(2);
    watched.clock.monotonicMs = () => 0;
    for (const watching of all) expect(watching.take()?.events.map(lineOf)).toEqual(['ADDED b']);
  });

  test('do not wait for all of the many watchers with another selection', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const other = await begin({ ...from, namespace: 'other' });
    const many = await Promise.all(Array.from({ length: 50 }, () => begin(from)));
    for (const watching of [other, ...many]) expect(watching.take()).toBeUndefined();
    let nowMs = 0;
    watched.clock.monotonicMs = () => nowMs;
    const woken: string[] = [];
    // Each takes the time of a whole turn.
    for (const watching of many) watching.wait(() => ((nowMs += 300), woken.push('many')));
    other.wait(() => woken.push('other'));
    await make('b');
    while (woken.length === 0) await new Promise(setImmediate);
    await make('c', {}, 'other');
    while (woken.length <= many.length) await new Promise(setImmediate);
    expect(woken.indexOf('other')).toBeGreaterThan(0);
    expect(woken.indexOf('other')).toBeLessThan(many.length / 2);
    expect(other.take()?.events.map(lineOf)).toEqual(['ADDED c']);
  });

  test('are sent more than one batch at once in parts that they share', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const all = [await begin(from), await begin(from), await begin(from)];
    for (const watching of all) expect(watching.take()).toBeUndefined();
    await Promise.all(Array.from({ length: 60 }, (_, n) => makeLarge(`r${n}`, 3_000)));
    await settled();
    const taken = all.map((watching) => {
      const batches: ReturnType<WatchReader['take']>[] = [];
      for (let batch = watching.take(); batch; batch = watching.take()) batches.push(batch);
      return batches;
    });
    expect(taken[0]?.flatMap((batch) => batch?.events ?? [])).toHaveLength(60);
    expect(taken[0]?.length).toBeGreaterThan(3);
    for (const other of taken) for (const [at, batch] of other.entries()) expect(batch).toBe(taken[0]?.[at]);
  });

  test('are sent the objects that expire in one revision in shared batches, over several turns', async () => {
    await watched.registry.cache.close();
    watched.open({ ...watched.memory, watch: (...args) => deletingTogether(60, watched.memory.watch(...args)) });
    await Promise.all(Array.from({ length: 60 }, (_, n) => makeLarge(`r${n}`, 3_000)));
    await settled();
    const [one, other, ofNone] = [await begin(), await begin(), await begin({ labels: labelled('none') })];
    for (const watching of [one, other]) expect(await next(watching, 60)).toHaveLength(60);
    for (const watching of [one, other, ofNone]) expect(watching.take()).toBeUndefined();
    for (let n = 0; n < 60; n++) await remove(`r${n}`);
    await settled();
    let looks = 0;
    const takeInTurns = async (watching: WatchReader) => {
      const batches: ReturnType<WatchReader['take']>[] = [];
      for (;;) {
        // Each turn has time for one step only.
        watched.clock.monotonicMs = () => 3 * looks++;
        const batch = watching.take();
        watched.clock.monotonicMs = () => 0;
        if (batch) batches.push(batch);
        else if (watching.reached !== undefined) return batches;
        await new Promise(setImmediate);
      }
    };
    const taken = await takeInTurns(one);
    const names = taken.flatMap((batch) => batch?.events.map(lineOf) ?? []);
    expect(names).toEqual(Array.from({ length: 60 }, (_, n) => `DELETED r${n}`));
    for (const batch of taken) expect(batch?.bytes).toBeLessThan(2 * 32 * 1024);
    expect(taken.map((batch) => batch?.endsInsideRevision)).toEqual(taken.map((batch) => batch !== taken.at(-1)));
    for (const [at, batch] of (await takeInTurns(other)).entries()) expect(batch).toBe(taken[at]);
    expect(await takeInTurns(ofNone)).toEqual([]);
  });
});

/** Delivers this many deletions in one revision, as etcd does when a lease expires. */
async function* deletingTogether(count: number, sets: AsyncIterable<ChangeSet>): AsyncGenerator<ChangeSet> {
  let deleted: ChangeSet['changes'] = [];
  for await (const set of sets) {
    if (set.changes.some(({ current }) => current)) yield set;
    else deleted = [...deleted, ...set.changes];
    if (deleted.length < count) continue;
    yield { ...set, changes: deleted };
    deleted = [];
  }
}

test.each([
  [{ resourceVersionMatch: 'Exact' }, ['Forbidden', 'NotSupported']],
  [{ resourceVersionMatch: 'NotOlderThan' }, ['Forbidden']],
  [{ resourceVersionMatch: 'Exact', sendInitialEvents: true }, ['Forbidden', 'NotSupported']],
  [{ sendInitialEvents: true }, ['Forbidden']],
  [{ resourceVersionMatch: 'NotOlderThan', sendInitialEvents: true, continue: 'c' }, ['Forbidden']],
  [{ continue: 'c' }, ['Forbidden']],
])('options that do not go together, %j, are refused with a cause each', async (asked, reasons) => {
  const error = await begin(asked).catch((thrown: unknown) => thrown);
  expect((error as StatusError).code).toBe(422);
  const causes = (error as StatusError).details?.causes ?? [];
  expect(causes.map(({ reason }) => reason)).toEqual(reasons.map((reason) => `FieldValue${reason}`));
});
