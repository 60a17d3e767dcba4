import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { seededRandom, systemClock, systemRandom } from '@cluster-apiserver/base';
import { serverUsage, testAuthority } from '../../../certificates/test/test-authority.ts';
import { until } from '@cluster-apiserver/testkit/until';
import { within } from '../../test/open-store.ts';
import { etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { StorageUnavailableError } from '../errors.ts';
import { identity } from '../transform/transformer.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';
import { EtcdClient } from './client.ts';
import type { EtcdEvent } from './etcd-event.ts';
import { Election } from './election.ts';
import { EtcdStore } from './etcd-store.ts';
import { http2Connect } from './http2-transport.ts';
import { noMeasures } from './measures.ts';

const restricted = etcdctl ? describe : describe.skip;
restricted(etcdctl ? 'a user of etcd' : 'skipped: there is no etcdctl', () => {
  let etcd: RealEtcd;
  let clientOf: (user: 'limited' | 'reader', events?: EtcdEvent[], broken?: string[]) => EtcdClient;
  beforeAll(async () => {
    const authority = await testAuthority('etcd');
    const [server, root, limited, reader] = await Promise.all([
      authority.issue({ subject: [['CN', 'member']], usages: [serverUsage], hosts: ['127.0.0.1'] }),
      ...['root', 'limited', 'reader'].map((name) => authority.issue({ subject: [['CN', name]] })),
    ]);
    if (!root || !limited || !reader) throw new Error('three were issued');
    const credentials = (issued: typeof root) => ({
      ca: authority.certificate,
      cert: issued.certificate,
      key: issued.privateKey,
    });
    etcd = await startEtcd({ tls: { authority: authority.certificate, ...server, client: credentials(root) } });
    etcd.control('role', 'add', 'ours');
    etcd.control('role', 'grant-permission', 'ours', '--prefix=true', 'readwrite', '/registry/');
    etcd.control('role', 'add', 'one-key');
    etcd.control('role', 'grant-permission', 'one-key', 'readwrite', '/registry/.own/head');
    for (const [user, role] of [
      ['root', 'root'],
      ['limited', 'ours'],
      ['reader', 'one-key'],
    ] as const) {
      etcd.control('user', 'add', user, '--no-password');
      etcd.control('user', 'grant-role', user, role);
    }
    etcd.control('auth', 'enable');
    clientOf = (user, events = [], broken = []) =>
      new EtcdClient({
        endpoints: etcd.endpoints,
        connect: http2Connect(systemClock, () => credentials(user === 'limited' ? limited : reader)),
        clock: systemClock,
        random: systemRandom(),
        probeKey: '/registry/.own/head',
        report: (event) => events.push(event),
        measures: { ...noMeasures, watchEnded: (by) => broken.push(by) },
      });
  });
  afterAll(() => etcd.stop());

  test('limited to the prefix supports every operation', async () => {
    const client = clientOf('limited');
    const store = new EtcdStore({ client, transformer: identity, internalPrefix: '/registry/.own/' });
    const cache = new WatchCache({
      store,
      prefix: '/registry/',
      collections: [
        {
          prefix: '/registry/r/',
          read: (entry, key) => ({ key, revision: entry.revision, weight: 1 }),
          termsOf: () => [],
        },
      ],
      clock: systemClock,
      random: seededRandom(1),
      report: () => {},
    });
    const terms: AbortSignal[] = [];
    const election = new Election({
      client,
      key: '/registry/.own/election/leader',
      identity: 'one',
      timeToLiveSeconds: 2,
      lead: (term) => void terms.push(term),
    });
    await cache.firstLoad;
    const key = '/registry/r/a';
    const lasting = { timeToLiveSeconds: 600 };
    const created = await store.create(key, Buffer.from('x'), lasting, within(5_000));
    const updated = await store.update(key, Buffer.from('y'), created, lasting, within(5_000));
    await cache.collections[0]?.waitUntilFresh(undefined, within(5_000));
    expect(cache.collections[0]?.get('a')?.revision).toBe(updated);
    await store.delete(key, updated, within(5_000));
    await cache.collections[0]?.waitUntilFresh(undefined, within(5_000));
    expect(cache.collections[0]?.get('a')).toBeUndefined();
    await until('a leader', () => election.isLeading || undefined);
    await pause(3_000);
    expect(terms).toHaveLength(1);
    expect(election.isLeading).toBe(true);
    await election.close();
    await cache.close();
    client.close();
  });

  test('that loses the right to write is reported once, and the server is not ready until it is granted again', async () => {
    const events: EtcdEvent[] = [];
    const client = clientOf('limited', events);
    const store = new EtcdStore({ client, transformer: identity, internalPrefix: '/registry/.own/' });
    const types = (): string[] => events.map(({ type }) => type).filter((type) => type.startsWith('access'));
    const created = await store.create('/registry/r/kept', Buffer.from('x'), {}, within(5_000));
    await client.checkRefusals(within(5_000));
    const grant = (right: string): void =>
      void etcd.control('role', 'grant-permission', 'ours', '--prefix=true', right, '/registry/');
    grant('read');
    const writes = [
      () => store.create('/registry/r/new', Buffer.from('x'), {}, within(5_000)),
      () => store.update('/registry/r/kept', Buffer.from('y'), created, {}, within(5_000)),
      () => store.delete('/registry/r/kept', created, within(5_000)),
    ];
    for (const write of writes) {
      await expect(write()).rejects.toBeInstanceOf(StorageUnavailableError);
      await expect(client.checkRefusals(within(5_000))).rejects.toThrow('permission denied');
    }
    expect(types()).toEqual(['access refused']);
    grant('readwrite');
    // The check needs no write of a client, which a server that is not ready does not get.
    await client.checkRefusals(within(5_000));
    expect(types()).toEqual(['access refused', 'access granted']);
    expect((await store.get('/registry/r/new', within(5_000))).stored).toBeUndefined();
    expect((await store.get('/registry/r/kept', within(5_000))).stored?.revision).toBe(created);
    for (const write of writes.slice(0, 2)) await write();
    client.close();
  });

  test('without the right to watch is reported once, and the server is not ready', async () => {
    const events: EtcdEvent[] = [];
    const outcomes: string[] = [];
    const client = clientOf('reader', events, outcomes);
    const store = new EtcdStore({ client, transformer: identity, internalPrefix: '/registry/.own/' });
    const abort = new AbortController();
    const after = await store.readLatestRevision(within(5_000));
    const watching = store.watch('/registry/', after, abort.signal)[Symbol.asyncIterator]();
    void watching.next();
    const refused = (): readonly EtcdEvent[] => events.filter(({ type }) => type === 'watch refused');
    await until('the refusal', () => refused().length > 0 || undefined);
    await expect(client.checkRefusals(within(5_000))).rejects.toThrow('refused');
    const attempts = outcomes.length;
    await until('further attempts', () => outcomes.length > attempts + 2 || undefined);
    expect(refused()).toHaveLength(1);
    // Nothing is written meanwhile, so the watch delivers no change.
    etcd.control('role', 'grant-permission', 'one-key', '--prefix=true', 'read', '/registry/');
    await until('the watch to be accepted', () => events.some(({ type }) => type === 'watch accepted') || undefined);
    await client.checkRefusals(within(5_000));
    abort.abort();
    client.close();
  });
});
