import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type HttpsResponse, openHttps, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { type JsonResponse, readJson } from '@cluster-apiserver/testkit/json-response';
import { CleanupStack } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { etcdctl } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { describeWithKubectl } from '../kubectl/kubectl.ts';
import { root, type Value } from './chart-files.ts';
import { describeWithHelm, find, type Manifest, release, render } from './helm.ts';
import { type ContainerOptions, type RunningContainer, startContainer } from './kubelet.ts';
import { containerOf } from './pods.ts';
import { describeIf } from '../describe-if.ts';

// Runs every container of a release as a process, to show that the rendered chart works.

const name = `${release}-cluster-apiserver`;
const memberCount = 3;
const replicaCount = 2;
const limitMs = 180_000;

/** The first key encrypts. */
const encryptedWith = (...keys: readonly string[]): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'encryption' },
  data: {
    'encryption.yaml': Buffer.from(`apiVersion: apiserver.config.platform.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [serviceaccounts]
    providers:
      - aesgcm:
          keys:${keys
            .map(
              (key) => `
            - {name: ${key}, secret: ${Buffer.alloc(32, key).toString('base64')}}`,
            )
            .join('')}
`).toString('base64'),
  },
});
const encryption = encryptedWith('one');

/** Values with every kind of configuration file. */
const withAnonymous = (paths: readonly string[]): Value => ({
  replicaCount,
  shutdown: { delaySeconds: 1 },
  encryption: { existingSecret: encryption.metadata.name },
  authentication: {
    configuration: {
      anonymous: { enabled: true, conditions: paths.map((one) => ({ path: one })) },
      jwt: [
        {
          issuer: { url: 'https://login.example.com', audiences: ['cluster'] },
          claimMappings: { username: { claim: 'sub', prefix: 'login:' } },
        },
      ],
    },
  },
  authorization: { configuration: { authorizers: [{ type: 'RBAC', name: 'rbac' }] } },
  admission: {
    enablePlugins: ['EventRateLimit'],
    configuration: { plugins: [eventRateLimit, staticPolicies] },
    manifests: { 'policy.yaml': guard, 'binding.json': JSON.stringify(guardBinding) },
  },
});
const eventRateLimit: Value = {
  name: 'EventRateLimit',
  configuration: {
    apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
    kind: 'Configuration',
    limits: [{ type: 'Server', qps: 1_000, burst: 1_000 }],
  },
};
const staticPolicies: Value = {
  name: 'ValidatingAdmissionPolicy',
  configuration: {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyConfiguration',
    staticManifestsDir: '/etc/cluster-apiserver/admission-manifests',
  },
};
const guard: Value = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'guard.static.k8s.io' },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] }],
    },
    validations: [{ expression: "object.metadata.name != 'guarded'", message: 'this name is guarded' }],
  },
};
const guardBinding: Value = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'guard.static.k8s.io' },
  spec: { policyName: 'guard.static.k8s.io', validationActions: ['Deny'] },
};
const probePaths = ['/livez', '/readyz'];

interface Replica {
  readonly container: RunningContainer;
  readonly port: number;
}

describeWithHelm('the pods of a release', () => {
  const cleanup = new CleanupStack();
  let directory: string;
  let manifests: readonly Manifest[];
  let replicas: readonly [Replica, Replica];
  let addresses: readonly (readonly [string, string])[];
  let ca: string;
  let adminToken: string;
  let startReplica: (at: number) => Promise<Replica>;

  /** Keeps the Secrets that Helm generated, as an upgrade does. */
  const renderUpgrade = (changes: Value): readonly Manifest[] => [
    ...render(['trial-three-members-values.yaml'], changes).filter(({ kind }) => kind !== 'Secret'),
    ...manifests.filter(({ kind }) => kind === 'Secret'),
  ];

  beforeAll(async () => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'release-'));
    cleanup.defer('files', () => fs.rmSync(directory, { recursive: true, force: true }));
    manifests = [...render(['trial-three-members-values.yaml'], withAnonymous(probePaths)), encryption];
    const secret = (of: string, key: string): string =>
      Buffer.from(
        (find(manifests, 'Secret', of).data as Readonly<Record<string, string>>)[key] ?? '',
        'base64',
      ).toString();
    ca = secret(`${name}-tls`, 'ca.crt');
    adminToken = secret(`${name}-tokens`, 'admin.token');

    const start = async (
      podName: string,
      options: Partial<ContainerOptions> & Pick<ContainerOptions, 'workload' | 'container'>,
    ) => {
      const folder = path.join(directory, podName);
      fs.mkdirSync(folder);
      const container = startContainer({
        manifests,
        podName,
        directory: folder,
        entryPoint: [],
        addresses,
        ...options,
      });
      cleanup.defer(podName, async () => void (await container.stop()));
      return container;
    };

    const ports = await freePorts(memberCount * 3);
    const members = Array.from({ length: memberCount }, (_, at) => {
      const [client = 0, peer = 0, metrics = 0] = ports.slice(at * 3);
      return { host: `${name}-etcd-${at}.${name}-etcd.platform.svc`, client, peer, metrics };
    });
    addresses = members.flatMap(
      ({ host, client, peer }) =>
        [
          [`${host}:2379`, `127.0.0.1:${client}`],
          [`${host}:2380`, `127.0.0.1:${peer}`],
        ] as const,
    );
    const etcd = find(manifests, 'StatefulSet', `${name}-etcd`);
    const ready = containerOf(etcd, 'etcd').readinessProbe?.httpGet.path ?? '';
    const containers = await Promise.all(
      members.map(({ client, peer, metrics }, at) =>
        start(`${name}-etcd-${at}`, {
          workload: etcd,
          container: 'etcd',
          addresses: [
            ...addresses,
            ['0.0.0.0:2379', `127.0.0.1:${client}`],
            ['0.0.0.0:2380', `127.0.0.1:${peer}`],
            ['0.0.0.0:2381', `127.0.0.1:${metrics}`],
          ],
        }),
      ),
    );
    for (const [at, { metrics }] of members.entries())
      await until(
        'a member of etcd',
        async () => {
          requireRunning(containers[at]);
          const answer = await fetch(`http://127.0.0.1:${metrics}${ready}`).catch(() => undefined); // undefined while it is not listening
          return answer?.ok || undefined;
        },
        60_000,
      );

    startReplica = async (at) => {
      const container = await start(`${name}-${at}`, {
        workload: find(manifests, 'Deployment', name),
        container: 'apiserver',
        entryPoint: serverEntryPoint(),
        addresses: [...addresses, ['--secure-port=6443', '--secure-port=0']],
      });
      const port = await until(
        'the port of a replica',
        () => {
          requireRunning(container);
          return /"serving".*"port":"?(\d+)/.exec(container.output)?.[1];
        },
        60_000,
      );
      const replica = { container, port: Number(port) };
      await until('a ready replica', async () => (await probe(replica, '/readyz')) === 200 || undefined, 60_000);
      return replica;
    };
    const started = await Promise.all(Array.from({ length: replicaCount }, (_, at) => startReplica(at)));
    replicas = started as unknown as [Replica, Replica]; // two replicas were started
  }, limitMs);
  afterAll(() => cleanup.close(), limitMs);

  const urlOf = ({ port }: Replica, target: string): string => `https://localhost:${port}${target}`;

  /** Probes like a kubelet: without a credential and without verifying the certificate. */
  const probe = async (replica: Replica, target: string): Promise<number> =>
    (await requestHttps(urlOf(replica, target), { rejectUnauthorized: false })).status;

  const request = async (
    replica: Replica,
    method: string,
    target: string,
    body?: object,
    token = adminToken,
  ): Promise<JsonResponse> => readJson(await openHttps(urlOf(replica, target), { method, body, ca, token }));

  const metricsPage = (replica: Replica, token = adminToken): Promise<HttpsResponse> =>
    requestHttps(urlOf(replica, '/metrics'), { ca, token });

  const configurationHash = async (replica: Replica): Promise<string | undefined> => {
    const { text } = await metricsPage(replica);
    return /^apiserver_encryption_config_controller_last_config_info\{.* 1$/m.exec(text)?.[0];
  };

  const accounts = '/api/v1/namespaces/team/serviceaccounts';
  const create = (replica: Replica, account: string): Promise<JsonResponse> =>
    request(replica, 'POST', accounts, { metadata: { name: account } });

  test('respond to the probes of their containers without a credential', async () => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(
      find(manifests, 'Deployment', name),
      'apiserver',
    );
    for (const replica of replicas)
      for (const given of [startupProbe, livenessProbe, readinessProbe])
        expect(await probe(replica, given?.httpGet.path ?? '')).toBe(200);
    expect(await probe(replicas[0], accounts)).toBe(401);
  });

  test('serve one cluster: a write through one replica is immediately visible through the other', async () => {
    for (const [at, writer] of replicas.entries()) {
      const reader = replicas[1 - at] as Replica; // the other of two
      const created = await create(writer, `by-${at}`);
      expect(created.status).toBe(201);
      const read = await request(reader, 'GET', `${accounts}/by-${at}`);
      expect(read.body.metadata).toEqual(created.body.metadata);
    }
  });

  test("accept each other's continue tokens", async () => {
    for (const account of ['page-1', 'page-2', 'page-3']) await create(replicas[0], account);
    const names: unknown[] = [];
    let token = '';
    for (let page = 0; page === 0 || token !== ''; page += 1) {
      const replica = replicas[page % 2] as Replica; // one of two
      const { body } = await request(replica, 'GET', `${accounts}?limit=1&continue=${encodeURIComponent(token)}`);
      names.push(...(body.items ?? []).map(({ metadata }) => metadata.name));
      token = body.metadata.continue ?? '';
    }
    expect(names).toEqual(expect.arrayContaining(['page-1', 'page-2', 'page-3']));
    expect(new Set(names).size).toBe(names.length);
  });

  test('accept each other’s service account tokens', async () => {
    await create(replicas[0], 'robot');
    const { status, body } = await request(replicas[0], 'POST', `${accounts}/robot/token`, {});
    expect(status).toBe(201);
    const { token } = body.status as { readonly token: string };
    const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const reviewed = await request(replicas[1], 'POST', review, {}, token);
    expect(reviewed.body.status).toMatchObject({ userInfo: { username: 'system:serviceaccount:team:robot' } });
  });

  test('serve metrics to the monitoring token, which has no other permission', async () => {
    const data = find(manifests, 'Secret', `${name}-tokens`).data as Readonly<Record<string, string>>;
    const token = Buffer.from(data['monitoring.token'] ?? '', 'base64').toString();
    expect((await metricsPage(replicas[0], token)).status).toBe(200);
    expect((await request(replicas[0], 'GET', accounts, undefined, token)).status).toBe(403);
  });

  test(
    'rotate the encryption key with the Job of the chart',
    async () => {
      const useKeys = async (...keys: readonly string[]): Promise<void> => {
        const hashes = await Promise.all(replicas.map(configurationHash));
        for (const { container } of replicas)
          container.remount([...manifests.filter((manifest) => manifest !== encryption), encryptedWith(...keys)]);
        for (const [at, replica] of replicas.entries())
          await until('the keys', async () => (await configurationHash(replica)) !== hashes[at] || undefined);
      };
      await create(replicas[0], 'rotated');
      await useKeys('one', 'two');
      await useKeys('two', 'one');
      const withJob = renderUpgrade({ ...(withAnonymous(probePaths) as object), storageRewrite: { enabled: true } });
      const job = withJob.find(({ kind }) => kind === 'Job');
      if (!job) throw new Error('the chart has no Job');
      const folder = path.join(directory, 'storage-rewrite');
      fs.mkdirSync(folder);
      const rewrite = startContainer({
        manifests: [...manifests.filter((manifest) => manifest !== encryption), encryptedWith('two', 'one')],
        workload: job,
        container: 'storage-rewrite',
        podName: 'storage-rewrite',
        directory: folder,
        entryPoint: serverEntryPoint(),
        addresses,
      });
      expect({ code: await rewrite.exited, output: rewrite.output }).toMatchObject({
        code: 0,
        output: expect.stringMatching(/[1-9]\d* rewritten, 0 unreadable/),
      });
      await useKeys('two');
      for (const replica of replicas) expect((await request(replica, 'GET', `${accounts}/rotated`)).status).toBe(200);
      await useKeys('one', 'two');
    },
    limitMs,
  );

  test('reload a ConfigMap that an upgrade has changed, without a restart', async () => {
    expect(await probe(replicas[0], '/version')).toBe(401);
    const changed = renderUpgrade(withAnonymous([...probePaths, '/version']));
    expect(find(changed, 'Deployment', name)).toEqual(find(manifests, 'Deployment', name));
    for (const { container } of replicas) container.remount(changed);
    for (const replica of replicas)
      await until('the changed configuration', async () => (await probe(replica, '/version')) === 200 || undefined);
  });

  test('apply the admission policies of a ConfigMap', async () => {
    for (const replica of replicas) {
      const { status, body } = await create(replica, 'guarded');
      expect(status).toBe(422);
      expect(body.message).toContain('this name is guarded');
    }
  });

  describeIf(etcdctl !== undefined, 'store', 'there is no etcdctl', () => {
    test('encrypt stored objects with the key of the Secret', async () => {
      await create(replicas[0], 'encrypted');
      const files = path.join(directory, `${name}-0`, 'etcd');
      const [[, endpoint] = ['', '']] = addresses;
      const access = ['--cacert', 'ca.crt', '--cert', 'tls.crt', '--key', 'tls.key'].map((word) =>
        word.startsWith('--') ? word : path.join(files, word),
      );
      const { stdout } = spawnSync(
        etcdctl ?? '',
        ['--endpoints', `https://${endpoint}`, ...access, 'get', '/registry/serviceaccounts/team/encrypted'],
        { encoding: 'latin1', env: { PATH: process.env.PATH, ETCDCTL_API: '3' } },
      );
      expect(stdout).toContain('k8s:enc:aesgcm:v1:one:');
    });
  });

  describeWithKubectl('serve', () => {
    test('serve kubectl', async () => {
      await create(replicas[0], 'listed');
      const home = path.join(directory, 'kubectl');
      fs.mkdirSync(home);
      fs.writeFileSync(path.join(home, 'ca.crt'), ca);
      const access = [`--certificate-authority=${path.join(home, 'ca.crt')}`, `--token=${adminToken}`];
      for (const { port } of replicas) {
        const { status, stdout } = spawnSync(
          'kubectl',
          [`--server=https://localhost:${port}`, ...access, 'get', 'serviceaccounts', '-n', 'team', '-o', 'name'],
          { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: home } },
        );
        expect(status).toBe(0);
        expect(stdout).toContain('serviceaccount/listed\n');
      }
    });
  });

  test('pass helm test, which fails without a running server', async () => {
    const pod = find(manifests, 'Pod', `${name}-test`);
    const runHelmTest = (port: number, podName: string): Promise<number | null> => {
      const folder = path.join(directory, podName);
      fs.mkdirSync(folder);
      const url = [`https://${name}.platform.svc`, `https://localhost:${port}`] as const;
      const once = ['60', '0'] as const; // the last argument is the waiting time
      const workload = { ...pod, spec: JSON.parse(JSON.stringify(pod.spec).replace(`"${once[0]}"`, `"${once[1]}"`)) };
      return startContainer({
        manifests,
        workload,
        container: 'test',
        podName,
        directory: folder,
        entryPoint: [],
        addresses: [url],
      }).exited;
    };
    expect(await runHelmTest(replicas[0].port, 'test-1')).toBe(0);
    const [unused = 0] = await freePorts(1);
    expect(await runHelmTest(unused, 'test-2')).not.toBe(0);
  });

  test(
    'stop within their grace period while another replica keeps serving',
    async () => {
      const third = await startReplica(replicaCount);
      expect((await create(third, 'left-behind')).status).toBe(201);
      expect(await third.container.stop()).toBe(0);
      expect(await probe(replicas[0], '/readyz')).toBe(200);
      expect((await request(replicas[0], 'GET', `${accounts}/left-behind`)).status).toBe(200);
    },
    limitMs,
  );
});

function requireRunning(container: RunningContainer | undefined): void {
  if (!container?.running) throw new Error(`a container ended:\n${container?.output}`);
}

/** The command of the image: the built server with the Node options of its first line. */
function serverEntryPoint(): readonly string[] {
  const program = path.join(root, 'packages', 'server', 'dist', 'main.js');
  const [firstLine = ''] = fs.readFileSync(program, 'utf8').split('\n', 1);
  return ['env', ...firstLine.replace('#!/usr/bin/env -S ', '').split(' '), program];
}
