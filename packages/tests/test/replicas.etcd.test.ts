/** Replicas on one etcd know each other by their Leases. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const cleanup = new CleanupStack();
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

const logs = fs.mkdtempSync(path.join(os.tmpdir(), 'replicas-'));
cleanup.defer('logs', () => fs.rmSync(logs, { recursive: true }));

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
});
afterAll(() => cleanup.close());

const policy = (level: string): string =>
  JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level }] });

/** Each writes a file of its own, as it must. */
const serve = (level: string, log: string): Promise<TestServer> =>
  serveKinds(kinds, {
    etcd,
    flags: ['--audit-policy-file=audit.yaml', `--audit-log-path=${path.join(logs, log)}`],
    files: { 'audit.yaml': policy(level) },
  });

interface Statusz {
  readonly replicas: readonly {
    readonly identity: string;
    readonly isThisReplica: boolean;
    readonly hostname: string;
    readonly version: string;
    readonly observedRevision: string;
    readonly configurationDiffersIn: readonly string[];
  }[];
}

async function readStatus({ url, certificate, token }: TestServer, accept: string): Promise<string> {
  return (await requestHttps(`${url}/statusz`, { ca: certificate, token, headers: { accept } })).text;
}

test('three replicas have three Leases, show each other in /statusz, and take theirs away when they stop', async () => {
  const servers = [await serve('Metadata', 'a'), await serve('Metadata', 'b'), await serve('None', 'c')] as const;
  const [one, , last] = servers;
  const count = async (): Promise<number> => (await one.request('GET', leases)).body.items?.length ?? 0;
  await until('three Leases', async () => (await count()) === 3 || undefined);
  const { body } = await one.request('GET', leases);
  const identities = body.items?.map(({ metadata }) => metadata.name).toSorted();
  expect(await one.request('GET', '/api/v1/namespaces/kube-system')).toMatchObject({ status: 200 });

  const status = JSON.parse(await readStatus(one, 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz')) as Statusz;
  expect(status.replicas.map(({ identity }) => identity)).toEqual(identities);
  expect(status.replicas.filter(({ isThisReplica }) => isThisReplica)).toHaveLength(1);
  for (const { hostname, version, observedRevision } of status.replicas) {
    expect([hostname, version]).toEqual(['a-host', expect.stringMatching(/^v1\./)]);
    expect(Number(observedRevision)).toBeGreaterThan(0);
  }
  expect(status.replicas.map(({ configurationDiffersIn }) => configurationDiffersIn.join()).toSorted()).toEqual([
    '',
    '',
    'audit-policy-file',
  ]);
  const page = await readStatus(one, 'text/plain');
  expect(page.match(/^Replica apiserver-[0-9a-f]{32}/gm)).toHaveLength(3);
  expect(page).toMatch(/other configuration: audit-policy-file$/m);

  await last.close();
  await until('two Leases', async () => (await count()) === 2 || undefined);
  for (const server of servers.slice(0, 2)) await server.close();
});
