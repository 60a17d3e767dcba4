/** A user whose clients ask again at once, whatever Retry-After says. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { loadReplicas } from './replica-load.ts';
import { type Replica, type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 120_000;
const connections = 200;
const responsesMeanwhile = 300;
const probes = 20;

const collection = '/api/v1/namespaces/greedy/configmaps';
const flowControl = '/apis/flowcontrol.apiserver.k8s.io/v1';
const rbac = 'rbac.authorization.k8s.io';
const binding = {
  metadata: { name: 'greedy' },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
  subjects: [{ apiGroup: rbac, kind: 'User', name: 'user' }],
};
/** Few seats and no queue, so nearly all requests of the user are refused. */
const level = {
  metadata: { name: 'greedy' },
  spec: {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: 1,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    },
  },
};
const all = ['*'];
const schema = {
  metadata: { name: 'greedy' },
  spec: {
    priorityLevelConfiguration: { name: 'greedy' },
    matchingPrecedence: 100,
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'user' } }],
        resourceRules: [{ verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true }],
      },
    ],
  },
};

const cleanup = new CleanupStack();
let etcd: RealEtcd;
let replicas: Replicas;
let replica: Replica;
beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}] });
  cleanup.defer('replicas', () => replicas.stop());
  [replica] = replicas.all as [Replica];
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'a flood of refused requests is answered slowly, while others lose nothing and probes are answered',
  async () => {
    const admin = replica.client();
    cleanup.defer('client', () => admin.close());
    await limitUser(admin);
    const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints }, cleanup);
    const flood = startFlood();
    cleanup.defer('flood', async () => void (await flood.stop()));
    await until('refusals that are held back', async () => (await heldRefusals()) > 0 || undefined);
    await load.waitForResponses(responsesMeanwhile);
    for (let probe = 0; probe < probes; probe++) expect((await admin.request('GET', '/readyz')).status).toBe(200);
    expect(await heldRefusals()).toBeGreaterThan(0);
    const answers = await flood.stop();
    expect(new Set(answers.keys())).toEqual(new Set(['200', '429 after 1']));
    await until('the end of all refusals', async () => (await heldRefusals()) === 0 || undefined);
    const { violations, late } = await load.judge();
    expect(violations).toEqual([]);
    expect(late).toEqual([]);
  },
  slowTestMs,
);

const heldRefusals = (): Promise<number> =>
  replica.metric('apiserver_flowcontrol_current_held_refusals', { priority_level: 'greedy' });

const greedyClient = (): Client => http1Client(replica.url, { ca: replicas.ca, token: replicas.userToken });

/** Resolves when requests of the user belong to the level. */
async function limitUser(admin: Client): Promise<void> {
  const created = [
    [`/apis/${rbac}/v1/clusterrolebindings`, binding],
    [`${flowControl}/prioritylevelconfigurations`, level],
    [`${flowControl}/flowschemas`, schema],
  ] as const;
  for (const [path, body] of created) expect((await admin.request('POST', path, { body })).status).toBe(201);
  const client = greedyClient();
  await until('its level', async () => {
    await client.request('GET', collection);
    const labels = { priority_level: 'greedy' };
    return (await replica.metric('apiserver_flowcontrol_dispatched_requests_total', labels)) > 0 || undefined;
  });
  client.close();
}

/** Each connection asks again as soon as it has been answered. */
function startFlood(): { stop(): Promise<ReadonlyMap<string, number>> } {
  const answers = new Map<string, number>();
  let isStopped = false;
  const all = Array.from({ length: connections }, async () => {
    const client = greedyClient();
    while (!isStopped) {
      const { status, retryAfter } = await client.request('GET', collection);
      const answer = retryAfter === undefined ? `${status}` : `${status} after ${retryAfter}`;
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
    client.close();
  });
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(all);
      return answers;
    },
  };
}
