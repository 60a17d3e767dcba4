/** The etcd of events fails behind a load balancer: no request for another kind does. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, type ClientResponse, http1Client, requestOnce } from '@cluster-apiserver/testkit/api-client';

const slowTestMs = 120_000;
const accounts = '/api/v1/namespaces/polite/serviceaccounts';
const events = '/api/v1/namespaces/noisy/events';
/** More than a probe of the load balancer needs to notice a replica that is not ready. */
const requestsMeanwhile = 300;

const cleanup = new CleanupStack();
let own: RealEtcd;
let cluster: Cluster;
beforeAll(async () => {
  own = await startEtcd({ encrypted: true });
  cleanup.defer('etcd of events', () => own.stop());
  const replicaFlags = [`--etcd-servers-overrides=/events#${own.endpoints.join(';')}`];
  cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags });
  cleanup.defer('cluster', () => cluster.stop());
}, slowTestMs);
afterAll(() => cleanup.close(), slowTestMs);

function openClient(): Client {
  const client = http1Client(cluster.pids().front.url, cluster);
  cleanup.defer('client', () => client.close());
  return client;
}

const event = (): object => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { generateName: 'event-', namespace: 'noisy' },
  involvedObject: { namespace: 'noisy' },
});
const createEvent = (client: Client): Promise<ClientResponse> => client.request('POST', events, { body: event() });

test(
  'accounts are written and read while events answer 503, and events are served again afterwards',
  async () => {
    const [polite, noisy] = [openClient(), openClient()];
    expect(await createEvent(noisy)).toMatchObject({ status: 201 });
    let count = 0;
    const workPolitely = async (): Promise<void> => {
      const name = `robot-${count++}`;
      const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
      expect(await polite.request('POST', accounts, { body })).toMatchObject({ status: 201 });
      expect(await polite.request('GET', `${accounts}/${name}`)).toMatchObject({ status: 200 });
    };
    for (const [stop, start] of [
      [() => own.members[0]?.signal('SIGSTOP'), () => own.members[0]?.signal('SIGCONT')],
      [() => own.members[0]?.signal('SIGKILL'), () => own.members[0]?.start()],
    ] as const) {
      await stop();
      let isOver = false;
      const answers = new Set<number>();
      const flood = (async () => {
        while (!isOver) answers.add((await createEvent(noisy)).status);
      })();
      await until('an event to be refused', async () => {
        await workPolitely();
        return answers.has(503) || undefined;
      });
      for (let more = 0; more < requestsMeanwhile; more++) await workPolitely();
      isOver = true;
      await flood;
      // 504 if it was sent before the outage was known.
      expect([503, 504]).toEqual(expect.arrayContaining([...answers]));
      for (const { url } of cluster.pids().replicas)
        expect(await requestOnce(url, cluster, 'GET', '/readyz')).toMatchObject({ status: 200 });
      await start();
      await until('an event', async () => (await createEvent(noisy)).status === 201 || undefined);
    }
  },
  slowTestMs,
);
