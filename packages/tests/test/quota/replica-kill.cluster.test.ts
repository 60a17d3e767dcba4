/** A replica is killed while it stores creations with their charges: what is charged is what is stored. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import type { ResponseBody } from '@cluster-apiserver/testkit/json-response';

const slowTestMs = 180_000;
const replicaCount = 3;
const writers = 30;
const most = 900;
const createdBeforeKill = 200;

const configMaps = '/api/v1/namespaces/limited/configmaps';
const quota = '/api/v1/namespaces/limited/resourcequotas/q';
const hard = { 'count/configmaps': `${most}` };

let cluster: Cluster;
let client: Client;
beforeAll(async () => {
  // No count, which would hide a wrong charge, and no ConfigMap of the server itself.
  const replicaFlags = ['--controllers=namespace-controller'];
  cluster = await startCluster({ replicas: replicaCount, etcdMembers: 1, replicaFlags });
  client = http1Client(cluster.pids().front.url, cluster);
}, slowTestMs);
afterAll(async () => {
  client.close();
  await cluster.stop();
}, slowTestMs);

test(
  'after a replica was killed exactly as many are stored as the quota allows, among them all acknowledged ones',
  async () => {
    const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } };
    await client.request('POST', quota.slice(0, -2), { body });
    const status = { status: { hard, used: { 'count/configmaps': '0' } } };
    await client.request('PATCH', `${quota}/status`, { body: status });

    const created: string[] = [];
    let unanswered = 0;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; ; n++) {
        const own = http1Client(cluster.pids().replicas[writer % replicaCount]?.url ?? '', cluster);
        const name = `c-${writer}-${n}`;
        try {
          const answer = await own.request('POST', configMaps, {
            body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
          });
          if (answer.status === 403 && answer.body.includes('exceeded quota')) return;
          if (answer.status === 201) created.push(name);
        } catch {
          unanswered++; // the killed replica, until it has been replaced
        } finally {
          own.close();
        }
      }
    };
    const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    await until('creations', () => created.length >= createdBeforeKill || undefined, slowTestMs);
    process.kill(cluster.pids().replicas[0]?.pid ?? 0, 'SIGKILL');
    await writing;

    expect(unanswered).toBeGreaterThan(0);
    const read = async (path: string) => JSON.parse((await client.request('GET', path)).body) as ResponseBody;
    const stored = new Set((await read(configMaps)).items?.map(({ metadata }) => metadata.name));
    expect(created.filter((name) => !stored.has(name))).toEqual([]);
    expect(stored.size).toBe(most);
    expect(await read(quota)).toHaveProperty('status.used', { 'count/configmaps': `${most}` });
  },
  slowTestMs,
);
