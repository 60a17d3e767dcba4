/** Definitions that are created, used, changed and deleted all at once, each step through another one of three replicas. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { readChanges } from '@cluster-apiserver/testkit/etcd-gateway';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { http2Transport } from '@cluster-apiserver/testkit/open-watch';
import { DefinitionLoad } from './definition-load.ts';
import { type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 1_200_000;
const loads = repetitions({ ci: 4, soak: 6 });
const rounds = repetitions({ ci: 4, soak: 60 });

const cleanup = new CleanupStack();
let etcd: RealEtcd;
let replicas: Replicas;

beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}, {}] });
  cleanup.defer('replicas', () => replicas.stop());
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'definitions of one name that come, change and go: established ones are served by every replica, and nothing of an earlier one appears',
  async () => {
    const transport = http2Transport(replicas);
    cleanup.defer('watches', () => transport.close());
    const all = Array.from({ length: loads }, (_, at) => new DefinitionLoad(replicas.all, transport, at));
    for (const load of all) cleanup.defer('clients', () => load.close());
    for (let round = 0; round < rounds; round++) {
      await Promise.all(all.map((load) => load.round(round)));
      expect(all.flatMap(({ problems }) => problems)).toEqual([]);
    }
    for (const { group } of all) {
      const last = new Map<string, boolean>();
      const changes = await readChanges(etcd.endpoints[0] ?? '', `/registry/${group}/`);
      for (const { key, value } of changes) last.set(key, value !== undefined);
      expect(last.size).toBeGreaterThan(0);
      expect([...last].filter(([, isStored]) => isStored)).toEqual([]);
    }
  },
  slowTestMs,
);
