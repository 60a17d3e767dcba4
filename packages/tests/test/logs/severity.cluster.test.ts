/** What replicas log above the severity I: nothing while all is well, and one line for an outage. */
import { afterAll, afterEach, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { http1Client, isReady } from '@cluster-apiserver/testkit/api-client';

let cluster: Cluster;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'severity-'));
const file = (name: string, content: object): string => {
  fs.writeFileSync(path.join(folder, name), JSON.stringify(content));
  return path.join(folder, name);
};
/** Nothing listens there. */
const nowhere = 'https://127.0.0.1:9';
const platform = 'apiserver.config.platform.io/v1';
const backends = [
  `--audit-policy-file=${file('policy', { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] })}`,
  `--audit-webhook-config-file=${file('audit', {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'a', cluster: { server: `${nowhere}/audit` } }],
    users: [{ name: 'a', user: {} }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  })}`,
  '--audit-webhook-initial-backoff=10ms',
  '--audit-webhook-batch-max-wait=100ms',
  `--tracing-config-file=${file('tracing', {
    apiVersion: platform,
    kind: 'TracingConfiguration',
    endpoint: '127.0.0.1:9',
    samplingRatePerMillion: 1_000_000,
  })}`,
  `--authentication-config=${file('authentication', {
    apiVersion: platform,
    kind: 'AuthenticationConfiguration',
    jwt: [
      { issuer: { url: nowhere, audiences: ['cluster'] }, claimMappings: { username: { claim: 'sub', prefix: 'x:' } } },
    ],
  })}`,
];
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const names = ['replica-1', 'replica-2'];
afterEach(() => cluster.stop());
const severe = (name: string): string[] => cluster.log(name).match(/^[WE]\d.*/gm) ?? [];

const allReady = (): Promise<true> =>
  until('ready replicas', async () => {
    const ready = await Promise.all(cluster.pids().replicas.map(({ url }) => isReady(url, cluster)));
    return ready.every(Boolean) ? true : undefined;
  });

test('a start, a rolling restart and an outage of etcd', async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1 });
  await allReady();
  expect(names.flatMap(severe)).toEqual([]);

  for (const { url, pid } of cluster.pids().replicas) {
    process.kill(pid, 'SIGTERM');
    await until('another process', () =>
      cluster.pids().replicas.some((replica) => replica.url === url && replica.pid !== pid) ? true : undefined,
    );
    await allReady();
  }
  expect(names.flatMap(severe)).toEqual([]);

  const [etcd] = cluster.pids().etcd;
  if (!etcd) throw new Error('the cluster has no etcd');
  process.kill(etcd.pid, 'SIGSTOP');
  try {
    const client = http1Client(cluster.pids().front.url, cluster);
    await until('the outage', async () => {
      await client.request('GET', '/api/v1/namespaces/default').catch(() => {});
      return names.every((name) => severe(name).length > 0) ? true : undefined;
    });
    client.close();
    await until('no ready replica', async () =>
      (await Promise.all(cluster.pids().replicas.map(({ url }) => isReady(url, cluster)))).includes(true)
        ? undefined
        : true,
    );
  } finally {
    process.kill(etcd.pid, 'SIGCONT');
  }
  await allReady();
  for (const name of names) {
    expect(severe(name)).toEqual([
      expect.stringMatching(
        /^E.* etcd\] "etcd unreachable; rejecting requests until it recovers" err=".+" remedy=".+"$/,
      ),
    ]);
    expect(cluster.log(name)).toMatch(/^I.* etcd\] "etcd reachable again" lasted="\d+s"$/m);
    expect(cluster.log(name)).not.toContain('"slow request"');
  }
}, 180_000);

test('each backend that does not answer is one line, whatever fails because of it', async () => {
  cluster = await startCluster({ replicas: 1, etcdMembers: 1, replicaFlags: backends });
  await allReady();
  const { url } = cluster.pids().front;
  const client = http1Client(url, cluster);
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  await client.request('POST', hooks, {
    body: {
      metadata: { name: 'hook' },
      webhooks: [
        {
          name: 'hook.example.com',
          clientConfig: { url: `${nowhere}/hook` },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] }],
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 1,
        },
      ],
    },
  });
  const part = (content: object): string => Buffer.from(JSON.stringify(content)).toString('base64url');
  const token = `${part({ alg: 'RS256', kid: 'a' })}.${part({ iss: nowhere, sub: 'a', aud: 'cluster', exp: 9_999_999_999 })}.AAAA`;
  const stranger = http1Client(url, { ca: cluster.ca, token });
  /** Without the lines that repeat an outage once a minute, which say how long it has lasted. */
  const messages = (): string[] =>
    severe('replica-1')
      .filter((line) => !/ lasted="\d+m/.test(line))
      .map((line) => /\] "([^"]+)"/.exec(line)?.[1] ?? line);
  const expected = [
    'admission webhook failed',
    'audit events lost',
    'cannot fetch the keys of an issuer',
    'trace collector unreachable; dropping spans',
  ];
  let account = 0;
  await until('all outages', async () => {
    expect((await stranger.request('GET', '/api')).status).toBe(401);
    await client.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      body: { metadata: { name: `a-${account++}` } },
    });
    return expected.every((message) => messages().includes(message)) ? true : undefined;
  });
  for (let more = 0; more < 20; more++) {
    await stranger.request('GET', '/api');
    await client.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      body: { metadata: { name: `b-${more}` } },
    });
  }
  client.close();
  stranger.close();
  expect(messages().toSorted()).toEqual(expected);
}, 120_000);
