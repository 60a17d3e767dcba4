/** Definitions that came and went: what a replica keeps of them. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import type { Client } from '@cluster-apiserver/testkit/api-client';
import { type Replica, type Replicas, startReplicas } from '../operations/replicas.ts';
import { http2Transport } from '@cluster-apiserver/testkit/open-watch';
import { collectGarbage } from './inspector.ts';

const slowTestMs = 600_000;
const rounds = repetitions({ ci: 60, soak: 1_000 });
/** Of each round; measured: 9 to 11 in 60 rounds, -1 in 1,000, and 340 of kinds that stay. */
const keptKilobytesMax = 30;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const cleanup = new CleanupStack();
let replicas: Replicas;
let replica: Replica;
let client: Client;
let inspectorPort = 0;
beforeAll(async () => {
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  [inspectorPort = 0] = await freePorts(1);
  const nodeOptions = [`--inspect-port=127.0.0.1:${inspectorPort}`];
  replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{ nodeOptions }] });
  cleanup.defer('replica', () => replicas.stop());
  [replica] = replicas.all as [Replica];
  client = replica.client();
  cleanup.defer('client', () => client.close());
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

/**
 * The watch cache keeps recent changes up to a weight, those of the rounds too. Now it keeps the same ones each time: of
 * one definition, and twice that weight: after less, some changes of the rounds were left.
 */
async function replaceRecentChanges(): Promise<void> {
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
  const names = { plural: 'others', kind: 'Other' };
  const body = {
    metadata: { name: 'others.example.com' },
    spec: { group: 'example.com', scope: 'Cluster', names, versions },
  };
  await client.request('POST', definitions, { body });
  const value = 'a'.repeat(200_000);
  for (let change = 0; change < 400; change++) {
    const patch = { metadata: { annotations: { change: `${change}${value}` } } };
    const { status } = await client.request('PATCH', `${definitions}/others.example.com`, { body: patch });
    expect(status).toBe(200);
  }
}

/** Its definition has 30 fields, patterns and rules. */
async function round(at: number, transport: ReturnType<typeof http2Transport>): Promise<void> {
  const group = `round${at}.example.com`;
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, field) => [
      `field${field}`,
      { type: 'string', pattern: `^a{${field}}b`, maxLength: 9 },
    ]),
  );
  const rules = [{ rule: `self.field1 != 'x${at}'` }];
  const openAPIV3Schema = { type: 'object', properties, 'x-kubernetes-validations': rules };
  const body = {
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  const path = `${definitions}/things.${group}`;
  expect((await client.request('POST', definitions, { body })).status).toBe(201);
  const things = `/apis/${group}/v1/things`;
  const created = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' }, field1: 'ab' };
  await until(
    'the kind',
    async () => (await client.request('POST', things, { body: created })).status === 201 || undefined,
  );
  const types: string[] = [];
  let isClosed = false;
  transport.open(replica.url, `${things}?watch=true`, {
    status: (code) => expect(code).toBe(200),
    line: (text) => types.push((JSON.parse(text) as { readonly type: string }).type),
    closed: () => (isClosed = true),
  });
  await until('the object', () => types.length === 1 || undefined);
  expect((await client.request('GET', `/openapi/v3/apis/${group}/v1`)).status).toBe(200);
  expect((await client.request('DELETE', path)).status).toBe(200);
  await until('the end', async () => (await client.request('GET', path)).status === 404 || undefined);
  await until('the end of the watch', () => isClosed || undefined);
  expect(types).toEqual(['ADDED', 'DELETED']);
}

test(
  'definitions that came and went leave no memory',
  async () => {
    const transport = http2Transport(replicas);
    cleanup.defer('watches', () => transport.close());
    const kept = async (): Promise<number> => {
      await replaceRecentChanges();
      return collectGarbage(replica.pid, inspectorPort);
    };
    for (let at = 0; at < rounds; at++) await round(at, transport);
    const before = await kept();
    for (let at = rounds; at < 2 * rounds; at++) await round(at, transport);
    const grown = (await kept()) - before;
    expect((grown * 1_024) / rounds).toBeLessThan(keptKilobytesMax);
  },
  slowTestMs,
);
