import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import {
  KeyExistsError,
  RevisionMismatchError,
  StorageFullError,
  StorageUnavailableError,
  WriteInDoubtError,
} from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { FollowedStore } from '../store.ts';
import { http2Connect } from './http2-transport.ts';
import { type Connect, EtcdFault } from './transport.ts';
import { encodeMessage, writeInt64 } from '../protobuf/fields.ts';
import type { Rpc } from './wire/rpc.ts';
import { compact, conditionalWrite, range } from './wire/key-value.ts';
import { revokeLease } from './wire/lease.ts';

let etcd: RealEtcd;
let proxy: TcpProxy;
/** Through the proxy. */
let ours: OpenedStore;
/** Somebody else, with a good connection. */
let theirs: OpenedStore;
let run = 0;
let key: string;
let began: Revision;

beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
beforeEach(async () => {
  proxy = await startProxy(etcd.endpoints[0] as string);
  ours = openStore([proxy.endpoint], { isFollowed: true });
  theirs = openStore(etcd.endpoints);
  key = `/once/${run++}/a`;
  await ours.followed;
  began = await theirs.store.readLatestRevision(within(5_000));
});
afterEach(async () => {
  ours.client.close();
  theirs.client.close();
  await proxy.close();
});

/**
 * The write is applied, but its response is lost: forwards the request, drops the response, lets others act, and forwards
 * responses again.
 */
async function loseResponse<T>(
  act: () => Promise<T>,
  meanwhile: (applied: Revision) => Promise<unknown> = nothing,
): Promise<{ readonly outcome: T; readonly applied: Revision }> {
  const before = (await ours.store.get(key, within(1_000))).stored?.revision;
  proxy.dropResponses = true;
  const acting = act();
  const applied = await until('the write to be applied', async () => {
    const { stored, revision: at } = await theirs.store.get(key, within(1_000));
    return stored?.revision === before ? undefined : (stored?.revision ?? at);
  });
  await meanwhile(applied);
  proxy.dropResponses = false;
  proxy.cut();
  return { outcome: await acting, applied };
}

/** The request never arrives, and others act before the client sends it again. Returns the error if it fails. */
async function loseRequest(
  act: () => Promise<Revision>,
  meanwhile: () => Promise<unknown> = nothing,
): Promise<unknown> {
  await ours.store.get(key, within(1_000));
  proxy.silent = true;
  const acting = act().catch((error: unknown) => error);
  await meanwhile();
  proxy.cut();
  proxy.silent = false;
  return acting;
}

const nothing = async (): Promise<void> => {};
const bytes = (text: string): Buffer => Buffer.from(text);
const create = (store: FollowedStore, value: string): Promise<Revision> =>
  store.create(key, bytes(value), {}, within(10_000));
const update = (store: FollowedStore, value: string, at: Revision): Promise<Revision> =>
  store.update(key, bytes(value), at, {}, within(10_000));
const remove = (store: FollowedStore, at: Revision): Promise<Revision> => store.delete(key, at, within(10_000));

const storedValue = async (): Promise<string | undefined> =>
  (await theirs.store.get(key, within(1_000))).stored?.value.toString();

/** How often this test wrote the value to the key. */
async function writesOf(value: string): Promise<number> {
  const abort = new AbortController();
  // A last change marks the end of the watch.
  const end = await theirs.store.create(`${key}-end`, bytes('end'), {}, within(1_000));
  let count = 0;
  for await (const set of theirs.store.watch(key, began, abort.signal)) {
    count += set.changes.filter(
      ({ current }) => current && !current.unreadable && current.value.toString() === value,
    ).length;
    if (set.revision >= end) break;
  }
  return count;
}

/** What others do between a write and its repetition. */
interface Since {
  readonly since: string;
  readonly meanwhile: (applied: Revision) => Promise<unknown>;
  readonly left: string | undefined;
}

test.each<Since>([
  { since: 'at its revision', meanwhile: nothing, left: 'mine' },
  {
    since: 'although others have changed it since',
    meanwhile: (at) => update(theirs.store, 'theirs', at),
    left: 'theirs',
  },
  { since: 'although others have deleted it since', meanwhile: (at) => remove(theirs.store, at), left: undefined },
  {
    since: 'although others have deleted it and created theirs',
    meanwhile: (at) => remove(theirs.store, at).then(() => create(theirs.store, 'theirs')),
    left: 'theirs',
  },
])('a create whose response is lost is recognised, $since, and is not repeated', async ({ meanwhile, left }) => {
  const { outcome, applied } = await loseResponse(() => create(ours.store, 'mine'), meanwhile);
  expect(outcome).toBe(applied);
  expect(await storedValue()).toBe(left);
  expect(await writesOf('mine')).toBe(1);
});

test('a create that never arrived is refused if others came first', async () => {
  const outcome = await loseRequest(
    () => create(ours.store, 'mine'),
    () => create(theirs.store, 'theirs'),
  );
  expect(outcome).toBeInstanceOf(KeyExistsError);
  expect(await writesOf('mine')).toBe(0);
});

test('a create that never arrived is done once, later', async () => {
  const outcome = await loseRequest(() => create(ours.store, 'mine'));
  expect(outcome).toBe((await theirs.store.get(key, within(1_000))).stored?.revision);
  expect(await writesOf('mine')).toBe(1);
});

test.each<{ what: string; act: (first: Revision) => Promise<Revision> }>([
  { what: 'a creation', act: () => ours.store.create(`${key}-new`, bytes('mine'), {}, within(10_000)) },
  { what: 'an update', act: (first) => update(ours.store, 'mine', first) },
  { what: 'a deletion', act: (first) => remove(ours.store, first) },
])('a response to $what after its timeout still counts', async ({ act }) => {
  const first = await create(ours.store, 'first');
  // Longer than the timeout of every attempt, so that a second one would be answered too late.
  proxy.delayMs = 1_100;
  expect(await act(first)).toBe(first + 1);
});

test.each<Since>([
  { since: 'at its revision', meanwhile: nothing, left: 'mine' },
  {
    since: 'although others have changed and deleted it since',
    meanwhile: async (at) => remove(theirs.store, await update(theirs.store, 'theirs', at)),
    left: undefined,
  },
])('an update whose response is lost is recognised, $since', async ({ meanwhile, left }) => {
  const first = await create(ours.store, 'first');
  const { outcome, applied } = await loseResponse(() => update(ours.store, 'mine', first), meanwhile);
  expect(outcome).toBe(applied);
  expect(await storedValue()).toBe(left);
});

test.each<Since>([
  { since: 'at its revision', meanwhile: nothing, left: undefined },
  {
    since: 'although others have created the key again',
    meanwhile: () => create(theirs.store, 'theirs'),
    left: 'theirs',
  },
])('a deletion whose response is lost is recognised, $since', async ({ meanwhile, left }) => {
  const first = await create(ours.store, 'first');
  const { outcome } = await loseResponse(() => remove(ours.store, first), meanwhile);
  expect(outcome).toBe(first + 1);
  expect(await storedValue()).toBe(left);
});

test.each<{ others: string; act: (first: Revision) => Promise<Revision>; left: string }>([
  { others: 'wrote something else first', act: (first) => update(theirs.store, 'theirs', first), left: 'theirs' },
  {
    others: 'wrote something else and then the same bytes',
    act: async (first) => update(theirs.store, 'mine', await update(theirs.store, 'theirs', first)),
    left: 'mine',
  },
])('an update in doubt is refused, and claims no write of others, if they $others', async ({ act, left }) => {
  const first = await create(ours.store, 'first');
  let last: Revision | undefined;
  const outcome = await loseRequest(
    () => update(ours.store, 'mine', first),
    async () => {
      last = await act(first);
    },
  );
  expect(outcome).toBeInstanceOf(RevisionMismatchError);
  expect(outcome).toMatchObject({ current: { revision: last, value: bytes(left) } });
});

test('a deletion in doubt is refused if others changed the key first', async () => {
  const first = await create(ours.store, 'first');
  const outcome = await loseRequest(
    () => remove(ours.store, first),
    () => update(theirs.store, 'theirs', first),
  );
  expect(outcome).toBeInstanceOf(RevisionMismatchError);
});

// It makes no difference to either writer whose change it was.
test.each<{ what: string; act: (store: FollowedStore, first: Revision) => Promise<Revision> }>([
  { what: 'a deletion', act: (store, first) => remove(store, first) },
  { what: 'an update', act: (store, first) => update(store, 'same', first) },
])('$what in doubt counts as applied if a twin by others came first, and has its revision', async ({ act }) => {
  const first = await create(ours.store, 'first');
  let theirRevision: Revision | undefined;
  const outcome = await loseRequest(
    () => act(ours.store, first),
    async () => {
      theirRevision = await act(theirs.store, first);
    },
  );
  expect(outcome).toBe(theirRevision);
});

test('without doubt equal bytes by another writer are a conflict', async () => {
  await create(theirs.store, 'same');
  await expect(create(ours.store, 'same')).rejects.toThrow(KeyExistsError);
});

test('while no response is lost, no fence key is written', async () => {
  const fenceKeys = async (): Promise<number> =>
    (await theirs.store.list({ prefix: '/own/' }, within(1_000))).entries.length;
  const before = await fenceKeys();
  await create(ours.store, 'x');
  expect(await fenceKeys()).toBe(before);
});

/** etcd forgets a lease, and with it what hangs on it. */
async function revokeLeasesBelow(prefix: string): Promise<void> {
  const request = { key: prefix, end: Buffer.from(`${prefix}\uffff`) };
  const { values } = await theirs.client.call(range, request, within(2_000));
  for (const lease of new Set(values.map((value) => value.lease)))
    if (lease !== 0) await theirs.client.call(revokeLease, lease, within(2_000));
}

test('an update in doubt is known to have been applied though its lease is gone', async () => {
  const lasting = { timeToLiveSeconds: 600 };
  const first = await ours.store.create(key, bytes('first'), lasting, within(5_000));
  const { outcome, applied } = await loseResponse(
    () => ours.store.update(key, bytes('mine'), first, lasting, within(10_000)),
    () => revokeLeasesBelow(key),
  );
  expect(outcome).toBe(applied);
});

test('a creation in doubt is fenced though the lease of the fences is gone', async () => {
  await loseResponse(() => create(ours.store, 'mine'));
  await revokeLeasesBelow('/own/seals/');
  key = `${key}-2`;
  const { outcome, applied } = await loseResponse(
    () => create(ours.store, 'mine'),
    (at) => remove(theirs.store, at),
  );
  expect(outcome).toBe(applied);
});

test.each<{ what: string; act: (first: Revision) => Promise<Revision> }>([
  { what: 'an update', act: (first) => ours.store.update(key, bytes('mine'), first, {}, within(1_500)) },
  { what: 'a deletion', act: (first) => ours.store.delete(key, first, within(1_500)) },
  { what: 'a creation', act: () => ours.store.create(`${key}-new`, bytes('mine'), {}, within(1_500)) },
])('$what whose answer never comes is left in doubt, and a read or what was never sent is not', async ({ act }) => {
  const first = await create(ours.store, 'first');
  proxy.dropResponses = true;
  await expect(act(first)).rejects.toThrow(WriteInDoubtError);
  const reading = await ours.store.get(key, within(300)).catch((error: unknown) => error);
  expect(reading).toBeInstanceOf(StorageUnavailableError);
  expect(reading).not.toBeInstanceOf(WriteInDoubtError);
  // A new connection is verified first, so nothing else is sent.
  proxy.cut();
  const unsent = await act(first).catch((error: unknown) => error);
  expect(unsent).toBeInstanceOf(StorageUnavailableError);
  expect(unsent).not.toBeInstanceOf(WriteInDoubtError);
});

test('a deletion in doubt is known to have been applied though the store is full since', async () => {
  const first = await create(ours.store, 'first');
  const { outcome } = await loseResponse(
    () => remove(ours.store, first),
    () => theirs.client.call(alarm, 'raise', within(2_000)),
  );
  await theirs.client.call(alarm, 'end', within(2_000));
  expect(outcome).toBe(first + 1);
});

/** The alarm that etcd raises when it has no space left. */
const alarm: Rpc<'raise' | 'end', void> = {
  path: '/etcdserverpb.Maintenance/Alarm',
  encode: (action) =>
    encodeMessage((to) => {
      writeInt64(to, 1, action === 'raise' ? 1 : 2);
      writeInt64(to, 3, 1);
    }),
  decode: () => undefined,
};

test.each([
  ['a creation', undefined],
  ['a replacement', 'old'],
])('what became of %s is left open when its traces are compacted, and it is not done again', async (_, before) => {
  const at = before === undefined ? undefined : await create(ours.store, before);
  const { outcome } = await loseResponse(
    () => (at === undefined ? create(ours.store, 'mine') : update(ours.store, 'mine', at)).catch((error) => error),
    async (applied) => {
      const theirRevision = await update(theirs.store, 'theirs', applied);
      await theirs.client.call(compact, theirRevision, within(1_000));
    },
  );
  expect(outcome).toBeInstanceOf(StorageUnavailableError);
  expect(await storedValue()).toBe('theirs');
});

const noSpace = (): EtcdFault => new EtcdFault('refused', 8, 'etcdserver: mvcc: database space exceeded');

/** Stands between a client and the writes that it sends. */
const withWrites =
  (write: (send: () => Promise<Buffer>, question: Buffer) => Promise<Buffer>): Connect =>
  (endpoint) => {
    const transport = http2Connect(systemClock)(endpoint);
    return {
      unary: (path, question, options) => {
        const send = (): Promise<Buffer> => transport.unary(path, question, options);
        return path === conditionalWrite.path ? write(send, Buffer.from(question)) : send();
      },
      openStream: (path) => transport.openStream(path),
      get connectionNumber() {
        return transport.connectionNumber;
      },
      close: () => transport.close(),
    };
  };

describe('a write that etcd has no space for', () => {
  /** Whether the next one is refused after it has been applied, as etcd does with the one that takes the last space. */
  let applies: boolean;
  let meanwhile: () => Promise<unknown>;
  let crowded: OpenedStore;
  beforeEach(async () => {
    applies = false;
    meanwhile = nothing;
    const connect = withWrites(async (send, question) => {
      if (!question.includes('takes space')) return send();
      if (applies) await send();
      applies = false;
      await meanwhile();
      throw noSpace();
    });
    crowded = openStore(etcd.endpoints, { connect, isFollowed: true });
    await crowded.followed;
  });
  afterEach(() => crowded.client.close());

  test('is refused when it was not applied', async () => {
    await expect(create(crowded.store, 'takes space')).rejects.toThrow(StorageFullError);
    expect((await theirs.store.get(key, within(1_000))).stored).toBeUndefined();
    const at = await create(theirs.store, 'theirs');
    await expect(create(crowded.store, 'takes space')).rejects.toThrow(KeyExistsError);
    await expect(update(crowded.store, 'takes space', at)).rejects.toThrow(StorageFullError);
    expect(await storedValue()).toBe('theirs');
  });

  test('is ours when it was applied all the same', async () => {
    applies = true;
    const created = await create(crowded.store, 'takes space');
    expect((await theirs.store.get(key, within(1_000))).stored?.revision).toBe(created);
    applies = true;
    const updated = await update(crowded.store, 'takes space again', created);
    expect((await theirs.store.get(key, within(1_000))).stored?.revision).toBe(updated);
  });

  test('is ours although others have changed it since', async () => {
    let applied: Revision | undefined;
    meanwhile = async () => {
      applied = (await theirs.store.get(key, within(1_000))).stored?.revision;
      await update(theirs.store, 'theirs', applied as Revision);
    };
    applies = true;
    expect(await create(crowded.store, 'takes space')).toBe(applied);
  });

  test('is a conflict when others came first', async () => {
    const at = await create(theirs.store, 'theirs');
    meanwhile = async () => update(theirs.store, 'theirs, too', at);
    await expect(update(crowded.store, 'takes space', at)).rejects.toThrow(RevisionMismatchError);
  });
});

test('a deletion that etcd refuses for lack of space, after it has applied it, is ours', async () => {
  let refusals = 0;
  const connect = withWrites(async (send) => {
    const answer = await send();
    if (refusals++ === 0) throw noSpace();
    return answer;
  });
  const at = await create(theirs.store, 'theirs');
  const crowded = openStore(etcd.endpoints, { connect, isFollowed: true });
  await crowded.followed;
  const deleted = await remove(crowded.store, at);
  expect(deleted).toBeGreaterThan(at);
  expect((await theirs.store.get(key, within(1_000))).stored).toBeUndefined();
  expect(refusals).toBe(1);
  crowded.client.close();
});
