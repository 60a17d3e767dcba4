import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import {
  canBumpRevision,
  etcdctl,
  type RealEtcd,
  type RestoreOptions,
  startEtcd,
} from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { mixedLoad } from '../fault/mixed-load.ts';
import { type ClientTarget, hasGo, noClients } from '../clients/client-programs.ts';
import { type ProgramCaches, startGoInformers } from '../clients/program-caches.ts';
import { type RunningInformer, startInformer } from '../clients/informer.ts';
import { describeIf } from '../describe-if.ts';
import { type Replicas, startReplicas } from './replicas.ts';

// The histories of requests are judged in fault/restore. Here: that every client comes back by itself.

const slowTestMs = 300_000;
const rounds = repetitions({ ci: 1, soak: 4 });
const writesBetween = 60;
const recoveryMs = 60_000;
const thinkMs = 20;
/** Revisions that clients may know, across the snapshot. */
const oldRevisions = 12;

const allRestores: readonly (RestoreOptions & { readonly how: string; readonly isPossible: boolean })[] = [
  { how: 'with --bump-revision --mark-compacted', bumpRevision: true, isPossible: canBumpRevision },
  { how: 'as it was', isPossible: true },
];
const restores = allRestores.slice(0, repetitions({ ci: 1, soak: allRestores.length }));

let cleanup: CleanupStack;
let etcd: RealEtcd;
let replicas: Replicas;
beforeEach(async () => {
  cleanup = new CleanupStack();
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}, {}] });
  cleanup.defer('replicas', () => replicas.stop());
}, slowTestMs);
afterEach(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

describeIf(etcdctl !== undefined, 'etcd restored', 'there is no etcdctl', () => {
  for (const { how, isPossible, ...options } of restores)
    describeIf(isPossible, how, 'etcdctl is too old', () => {
      test(
        'through each replica and the load balancer, watches of older revisions end with 410 and informers converge',
        async () => {
          const urls = [...replicas.all.map(({ url }) => url), replicas.front];
          const clients = urls.map((url) => http1Client(url, replicas));
          for (const client of clients) cleanup.defer('client', () => client.close());
          const informers = urls.map((url) => startInformer({ ...replicas, url }));
          for (const informer of informers) cleanup.defer('informer', () => informer.stop());
          for (let round = 0; round < rounds; round++) {
            await write(clients, `before-${round}`);
            const kept = await latestRevision(clients);
            const snapshot = etcd.snapshot(`backup-${round}`);
            await write(clients, `lost-${round}`);
            const lost = await latestRevision(clients);
            await until('informers that know what will be lost', () => informers.every(hasEvents) || undefined);
            await etcd.restore(snapshot, options);
            for (const client of clients) {
              await until('a list', async () => (await statusOf(client, '')) === 200 || undefined, recoveryMs);
              const known = options.bumpRevision ? [kept - oldRevisions, kept, lost] : [kept - oldRevisions];
              for (const revision of known) {
                const { body } = await client.request(
                  'GET',
                  `${accounts}?watch=1&timeoutSeconds=5&resourceVersion=${revision}`,
                );
                expect(JSON.parse(body)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
              }
            }
            await write(clients, `after-${round}`);
            for (const informer of informers) await informer.converge();
          }
        },
        slowTestMs,
      );

      describeIf(hasGo, 'informers of client-go', noClients, () => {
        test(
          'typed, metadata and dynamic, converge',
          async () => {
            const [client] = replicas.all.map((replica) => replica.client());
            if (!client) throw new Error('there are replicas');
            cleanup.defer('client', () => client.close());
            const urls = [...replicas.all.map(({ url }) => url), replicas.front];
            const informers = urls.map((url) => startGo({ ...replicas, url }));
            await write([client], 'before');
            const snapshot = etcd.snapshot('backup');
            await write([client], 'lost');
            for (const informer of informers) await informer.converge(client);
            await etcd.restore(snapshot, options);
            await until('a list', async () => (await statusOf(client, '')) === 200 || undefined, recoveryMs);
            await write([client], 'after');
            for (const informer of informers) await informer.converge(client);
          },
          slowTestMs,
        );
      });
    });
});

const accounts = '/api/v1/serviceaccounts';

const hasEvents = ({ events }: RunningInformer): boolean => events >= writesBetween;

const statusOf = async (client: Client, query: string): Promise<number> =>
  (await client.request('GET', `${accounts}${query}`)).status;

async function latestRevision([client]: readonly Client[]): Promise<number> {
  const { body } = (await client?.request('GET', accounts)) ?? { body: '' };
  return Number(JSON.parse(body).metadata.resourceVersion);
}

/** Random writes through all of the clients. */
async function write(clients: readonly Client[], idPrefix: string): Promise<void> {
  const load = mixedLoad(clients, seededRandom(3), { idPrefix, thinkMs });
  const written = (): number => load.history.filter(({ outcome }) => outcome.result === 'written').length;
  try {
    await until('writes', () => written() >= writesBetween || undefined, recoveryMs);
  } finally {
    await load.stop();
  }
}

function startGo(target: ClientTarget): ProgramCaches {
  const informers = startGoInformers(target, { 'v1/serviceaccounts': accounts });
  cleanup.defer('informers', () => informers.end());
  return informers;
}
