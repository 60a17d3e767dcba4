import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, type Clock, systemClock } from '@cluster-apiserver/base';
import { decode, type KubeObject, StatusError } from '@cluster-apiserver/model';
import { CorruptValueError, type Entry, memoryStore, revision, type Store } from '@cluster-apiserver/storage';
import {
  create,
  deleteObject,
  list,
  type Registry,
  update,
  type Resource,
  type WatchReader,
  type WatchOptions,
  watch,
} from '../index.ts';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { robotKind } from '../../test/robot-kind.ts';
import { openTestRegistry } from '../../test/open-test-registry.ts';

const kind = robotKind;
const call = callUntil(Number.POSITIVE_INFINITY);
let memory: ReturnType<typeof memoryStore>;
let registry: Registry;
let resource: Resource;
let watchings: WatchReader[];
/** Every turn has time for everything, until a test moves the clock by hand. */
let clock: Clock & { monotonicMs: () => number };

beforeEach(() => {
  clock = { ...systemClock, monotonicMs: () => 0 };
  memory = memoryStore(systemClock);
  watchings = [];
  open(memory);
});
afterEach(async () => {
  for (const watching of watchings) watching.close();
  await registry.cache.close();
  memory.close();
});

function open(store: Store): void {
  registry = openTestRegistry(kind, store, clock);
  resource = registry.resources[0] as Resource;
}

/** One that remembers nothing of what was before it. */
async function anotherReplica(): Promise<void> {
  await registry.cache.close();
  open(memory);
}

const robot = (name: string, labels: Record<string, string>, annotations = {}): KubeObject =>
  decode(kind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: { name, labels, annotations } }, () => {});
/** One of about so many bytes. */
const makeLarge = (name: string, bytes: number) =>
  create(resource, robot(name, {}, { note: 'x'.repeat(bytes) }), options('n'), call);
const options = (namespace: string) => ({ namespace, dryRun: false, manager: 'm', warn: () => {} });
const make = async (name: string, labels = {}, namespace = 'n') =>
  (await create(resource, robot(name, labels), options(namespace), call)).revision as number;
const put = async (name: string, labels = {}, namespace = 'n') =>
  (await update(resource, name, robot(name, labels), options(namespace), call)).outcome.revision as number;
const remove = (name: string, namespace = 'n') => deleteObject(resource, name, { namespace, dryRun: false }, call);
const labelled = (key: string) => ({ requirements: [{ key, operator: 'exists' as const, values: [] }] });

async function begin(asked: Partial<WatchOptions> = {}): Promise<WatchReader> {
  const watching = await watch(
    resource,
    {
      namespace: 'n',
      labels: undefined,
      fields: undefined,
      resourceVersion: undefined,
      resourceVersionMatch: undefined,
      sendInitialEvents: undefined,
      allowWatchBookmarks: false,
      continue: undefined,
      ...asked,
    },
    call,
  );
  watchings.push(watching);
  return watching;
}

const lineOf = (event: { type: string }): string =>
  'outcome' in event
    ? `${event.type} ${(event.outcome as { object: KubeObject }).object.metadata.name}`
    : `${event.type}${(event as { endsInitialEvents?: boolean }).endsInitialEvents ? ' end' : ''}`;

/** The next `count` events. */
async function next(watching: WatchReader, count: number): Promise<string[]> {
  const lines: string[] = [];
  while (lines.length < count) {
    const batch = watching.take();
    if (batch) lines.push(...batch.events.map(lineOf));
    else await new Promise<void>((resolve) => watching.wait(resolve));
  }
  return lines;
}

/** Resolves when all changes so far are in memory and were sent by the channels. */
async function settled(): Promise<void> {
  await resource.collection.waitUntilFresh(undefined, call);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}

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
    await memory.create('/registry/others/x', Buffer.from('{}'), {}, call);
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
      await update(resource, 'r0', robot('r0', {}, { note, n: String(n) }), options('n'), call);
    await settled();
    expect(slow.take()).toBeUndefined();
    expect(slow.end).toBe('snapshot');
  });

  test('waits for another turn when this one has no time left, and continues where it was', async () => {
    for (let n = 0; n < 300; n++) await make(`r${n}`, { n: String(n) });
    // Each look at the time is one millisecond later, so that a turn has time for a few looks.
    let looks = 0;
    clock.monotonicMs = () => looks++;
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

  test('is sent to a slow reader from memory, in order and without a gap', async () => {
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
    await memory.create('/registry/robots/n/bad', Buffer.from('{"kind":"Robot"}'), {}, call);
    await settled();
    expect(() => watching.take()).toThrow('/registry/robots/n/bad');
  });

  test('are called back in several turns, each once for a batch', async () => {
    const from = { resourceVersion: String(await make('a')) };
    const all = await Promise.all(Array.from({ length: 200 }, () => begin(from)));
    for (const watching of all) expect(watching.take()).toBeUndefined();
    let looks = 0;
    clock.monotonicMs = () => looks++;
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
    clock.monotonicMs = () => 0;
    for (const watching of all) expect(watching.take()?.events.map(lineOf)).toEqual(['ADDED b']);
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
});

describe('changes that are too old for memory', () => {
  test('are read from the history of the store, and then from memory', async () => {
    const first = await make('a');
    for (let n = 0; n < 5_200; n++) await put('a', { n: String(n) });
    await anotherReplica();
    const watching = await begin({ resourceVersion: String(first) });
    expect(watching.take()).toBeUndefined();
    const lines = await next(watching, 5_200);
    expect(new Set(lines)).toEqual(new Set(['MODIFIED a']));
    await make('b');
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    await settled();
    expect(watching.take()).toBeUndefined();
    expect(watching.reached).toBeDefined();
  });

  test('are read from the store once for all watchers that missed them, whatever they select', async () => {
    const first = await make('a');
    for (let n = 0; n < 5_200; n++) await put('a', { n: String(n) });
    await make('other', {}, 'other');
    let replays = 0;
    await registry.cache.close();
    open({
      ...memory,
      watch: (...args) => ((replays += args[3]?.withPrevious === false ? 0 : 1), memory.watch(...args)),
    });
    const all = await Promise.all(
      [{}, { namespace: 'other' }, { labels: labelled('n') }, { namespace: undefined }, {}].map((more) =>
        begin({ resourceVersion: String(first), ...more }),
      ),
    );
    const sent = await Promise.all(all.map((watching, at) => next(watching, at === 1 ? 1 : 100)));
    expect(sent.map(([line]) => line)).toEqual(['MODIFIED a', 'ADDED other', 'ADDED a', 'MODIFIED a', 'MODIFIED a']);
    expect(replays).toBe(1);
  });

  test('and for the store ends the watch as expired', async () => {
    const first = await make('a');
    await put('a', { n: '1' });
    const last = await put('a', { n: '2' });
    memory.compact(last as Parameters<typeof memory.compact>[0]);
    await anotherReplica();
    const error = await next(await begin({ resourceVersion: String(first) }), 1).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({ code: 410, reason: 'Expired' });
  });

  test('end the watch of a reader that was once in step and can reconnect', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')) });
    expect(watching.take()).toBeUndefined();
    const large = 'x'.repeat(60_000);
    for (let n = 0; n < 700; n++) {
      await update(
        resource,
        'a',
        { ...robot('a', {}), metadata: { name: 'a', annotations: { large, n: String(n) } } },
        options('n'),
        call,
      );
      if (n % 100 === 0) await settled();
    }
    await settled();
    expect(watching.take()).toBeUndefined();
    expect(watching.end).toBe('behind');
  });
});

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

describe('an object that cannot be read', () => {
  const spoil = (name: string) =>
    memory.create(`/registry/robots/n/${name}`, Buffer.from('{"kind":"Robot"}'), {}, call);
  const listed = (more: object = {}) =>
    list(
      resource,
      {
        namespace: 'n',
        labels: undefined,
        fields: undefined,
        resourceVersion: undefined,
        resourceVersionMatch: undefined,
        limit: undefined,
        continue: undefined,
        sendInitialEvents: undefined,
        ...more,
      },
      call,
    );

  test('fails the lists it might belong to, and names its key', async () => {
    await make('a', { x: '1' });
    await spoil('bad');
    for (const more of [{}, { labels: labelled('x') }, { namespace: undefined }])
      await expect(listed(more)).rejects.toThrow('/registry/robots/n/bad');
    expect((await listed({ namespace: 'm' })).items).toEqual([]);
  });

  test('ends a watch after the events before it, and names its key', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')) });
    await make('b');
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    await spoil('bad');
    await settled();
    expect(() => watching.take()).toThrow('/registry/robots/n/bad');
  });

  test('is replaced by one that can be read, and then it is as if it had been new', async () => {
    const spoiled = await spoil('a');
    await settled();
    const watching = await begin({ resourceVersion: String(spoiled) });
    const good = Buffer.from('{"kind":"Robot","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u"}}');
    await memory.update('/registry/robots/n/a', good, spoiled, {}, call);
    expect(await next(watching, 1)).toEqual(['ADDED a']);
    expect((await listed()).items).toHaveLength(1);
  });

  test('is not hidden by a transformer that refuses it', () => {
    const unreadable = new CorruptValueError(['/registry/robots/n/a']);
    const item = resource.collection.descriptor.read(
      { key: '/registry/robots/n/a', revision: 7 as never, unreadable, retry: () => Promise.reject(unreadable) },
      'n/a',
    );
    expect(item.unreadable).toBe(unreadable);
  });
});

describe('an object that cannot be read at present', () => {
  const keyUnavailable = new (class extends CorruptValueError {
    override readonly isPermanent = false;
  })(['/registry/robots/n/locked']);
  let locked: boolean;
  const seal = (entry: Entry): Entry =>
    locked && entry.key.endsWith('/locked')
      ? { key: entry.key, revision: entry.revision, unreadable: keyUnavailable, retry: async () => seal(entry) }
      : entry;

  beforeEach(async () => {
    locked = true;
    await registry.cache.close();
    open({
      ...memory,
      watch: async function* (...args) {
        for await (const { changes, ...set } of memory.watch(...args))
          yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && seal(one.current) })) };
      },
    });
  });

  test('delays only watchers that select it, and they get all events in order', async () => {
    const all = await begin();
    const others = await begin({ namespace: 'other' });
    await make('before');
    await make('locked');
    await make('after');
    await make('elsewhere', {}, 'other');
    expect(await next(all, 1)).toEqual(['ADDED before']);
    expect(await next(others, 1)).toEqual(['ADDED elsewhere']);
    registry.retryUnreadable();
    await make('later');
    locked = false;
    registry.retryUnreadable();
    expect(await next(all, 3)).toEqual(['ADDED locked', 'ADDED after', 'ADDED later']);
  });

  test('and never will be, because it was replaced before, ends the watches that it belongs to', async () => {
    const watching = await begin();
    await make('before');
    await make('locked');
    locked = false;
    await put('locked', { a: 'b' });
    await settled();
    expect(await next(watching, 1)).toEqual(['ADDED before']);
    expect(() => watching.take()).toThrow(expect.objectContaining({ reason: 'ServiceUnavailable' }));
  });

  test('is sent in order when it is read late, even if it was replaced several times before', async () => {
    const reads: (() => void)[] = [];
    const late = (entry: Entry): Entry =>
      entry.key.endsWith('/locked')
        ? {
            key: entry.key,
            revision: entry.revision,
            unreadable: keyUnavailable,
            retry: async () => late(entry),
            pending: new Promise((resolve) => reads.push(() => resolve(entry))),
          }
        : entry;
    await registry.cache.close();
    open({
      ...memory,
      watch: async function* (...args) {
        for await (const { changes, ...set } of memory.watch(...args))
          yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && late(one.current) })) };
      },
    });
    const [all, selected] = [await begin(), await begin({ labels: labelled('n') })];
    await make('locked', { n: '0' });
    await settled();
    await put('locked', { n: '1' });
    await put('locked', {});
    await make('after', { n: '0' });
    await settled();
    expect([all.take(), selected.take()]).toEqual([undefined, undefined]);
    expect(reads).toHaveLength(3);
    for (const read of reads.toReversed()) {
      read();
      await settled();
    }
    expect(await next(all, 4)).toEqual(['ADDED locked', 'MODIFIED locked', 'MODIFIED locked', 'ADDED after']);
    expect(await next(selected, 4)).toEqual(['ADDED locked', 'MODIFIED locked', 'DELETED locked', 'ADDED after']);
  });

  test('ends no beginning that it does not belong to when it can be read', async () => {
    await makeLarge('a', 40_000);
    await makeLarge('b', 40_000);
    await make('locked', {}, 'other');
    await settled();
    const watching = await begin();
    expect(await next(watching, 1)).toEqual(['ADDED a']);
    locked = false;
    registry.retryUnreadable();
    await settled();
    expect(resource.collection.get('other/locked')?.unreadable).toBeUndefined();
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    expect(watching.end).toBeUndefined();
  });
});

test('when the storage turns out to have another history, every watch ends as expired, in step or not', async () => {
  await make('a');
  const at = await make('b');
  const watchings = [await begin(), await begin({ resourceVersion: String(at) }), await begin({ namespace: 'empty' })];
  await next(watchings[0] as WatchReader, 2);
  const ends = watchings.map(
    (watching) =>
      new Promise<unknown>((resolve) => {
        const look = (): void => {
          try {
            while (watching.take()) {
              // Cached parts of before must not be sent again.
            }
            watching.wait(look);
          } catch (error) {
            resolve(error);
          }
        };
        look();
      }),
  );
  memory.restore(revision(at - 1));
  // In this turn, because memory is loaded again soon.
  const refused = begin({ resourceVersion: String(at) }).catch((error: unknown) => error);
  expect(await refused).toMatchObject({ reason: 'ServiceUnavailable' });
  for (const end of ends) expect(await end).toMatchObject({ reason: 'Expired' });
});

test('cached parts of one history are not sent to a watch of another one that begins at the same revision', async () => {
  const from = await make('a');
  await make('past');
  expect(await next(await begin({ resourceVersion: String(from) }), 1)).toEqual(['ADDED past']);
  memory.restore(revision(from));
  await untilTurned(() => registry.cache.isSynced);
  await make('present');
  await settled();
  expect(await next(await begin({ resourceVersion: String(from) }), 1)).toEqual(['ADDED present']);
});
