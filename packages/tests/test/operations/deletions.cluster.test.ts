import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { readChanges } from '@cluster-apiserver/testkit/etcd-gateway';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { registry, serviceAccounts } from '../fault/judged-resources.ts';
import { http2Transport } from '@cluster-apiserver/testkit/open-watch';
import { type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 400_000;
const objects = repetitions({ ci: 400, soak: 5_000 });
const kills = repetitions({ ci: 1, soak: 4 });
const deletionMs = 180_000;
const writersEach = 8;

const cleanup = new CleanupStack();
let etcd: RealEtcd;
let replicas: Replicas;
let clients: readonly Client[];

beforeAll(async () => {
  etcd = await startEtcd({ members: 3 });
  cleanup.defer('etcd', () => etcd.stop());
  replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}] });
  cleanup.defer('replicas', () => replicas.stop());
  clients = replicas.all.flatMap(({ url }) => Array.from({ length: writersEach }, () => http1Client(url, replicas)));
  for (const client of clients) cleanup.defer('client', () => client.close());
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

const deletions = [
  {
    what: 'a namespace',
    namespace: 'ended',
    ownedBy: (): readonly object[] => [],
    begin: (client: Client) => client.request('DELETE', '/api/v1/namespaces/ended'),
  },
  {
    what: 'an owner of objects, which are collected after it',
    namespace: 'collected',
    ownedBy: (uid: string) => [{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'owner', uid }],
    begin: (client: Client) => client.request('DELETE', '/api/v1/namespaces/collected/serviceaccounts/owner'),
  },
];

test.each(deletions)(
  'the leader of etcd is killed during the deletion of $what: each object is deleted once, and each watch says so once',
  async ({ namespace, ownedBy, begin }) => {
    const [client] = clients as readonly [Client];
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const create = async (by: Client, body: object): Promise<string> => {
      const answer = await by.request('POST', path, { body });
      expect(answer.status).toBe(201);
      return answer.body;
    };
    const owner = await create(client, { metadata: { name: 'owner' } });
    const { uid, resourceVersion } = JSON.parse(owner).metadata as { uid: string; resourceVersion: string };
    const names = Array.from({ length: objects }, (_, at) => `a${at}`);
    await Promise.all(
      clients.map(async (by, first) => {
        for (let at = first; at < names.length; at += clients.length)
          await create(by, { metadata: { name: names[at], ownerReferences: ownedBy(uid) } });
      }),
    );
    const watches = replicas.all.map(({ url }) =>
      watchDeletions(url, `${path}?watch=true&resourceVersion=${resourceVersion}`),
    );
    expect((await begin(client)).status).toBe(200);
    for (let kill = 1; kill <= kills; kill++) {
      const enough = (objects * kill) / (kills + 2);
      await until(
        'some deletions',
        () => watches.every(({ deleted }) => deleted.length >= enough) || undefined,
        deletionMs,
      );
      const leader = await etcd.leader();
      await leader.signal('SIGKILL');
      await until('another leader', async () => (await etcd.leader()) !== leader || undefined);
      await leader.start();
    }
    const expected = [...names, 'owner'].toSorted();
    await until(
      'all deletions',
      () => watches.every(({ deleted }) => deleted.length >= expected.length) || undefined,
      deletionMs,
    );
    for (const watch of watches) {
      expect(watch.deleted.toSorted()).toEqual(expected);
      expect(watch.others).toEqual([]);
    }
    const list = await client.request('GET', path);
    expect(JSON.parse(list.body).items).toEqual([]);
    const changes = await readChanges(etcd.endpoints[0] ?? '', `${registry}${serviceAccounts.prefix}${namespace}/`);
    const removed = changes
      .filter(({ value }) => value === undefined)
      .map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
    expect(removed.toSorted()).toEqual(expected);
  },
  slowTestMs,
);

/** One watch for the whole deletion: it must not end, because neither replica stops. */
function watchDeletions(url: string, path: string): { readonly deleted: string[]; readonly others: string[] } {
  const [deleted, others]: [string[], string[]] = [[], []];
  const wire = http2Transport(replicas);
  cleanup.defer('wire', () => wire.close());
  wire.open(url, path, {
    status: (code) => code !== 200 && others.push(`status ${code}`),
    line: (text) => {
      const { type, object } = JSON.parse(text) as { type: string; object: { metadata: { name: string } } };
      if (type === 'DELETED') deleted.push(object.metadata.name);
      else if (type === 'ERROR') others.push(text);
    },
    closed: () => others.push('the end'),
  });
  return { deleted, others };
}
