/** KMS plugins: the server's behavior and its reports while a plugin is unavailable. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '@cluster-apiserver/testkit/leaks';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import {
  accounts,
  configuration,
  createAccount,
  file,
  flags,
  provider,
  kmsProviders,
  prefixOf,
  readStoredValue,
  reconfigure,
} from './configuration.ts';

const socketOf = (name: string): string => path.join(os.tmpdir(), `kms-${name}-${process.pid}.sock`);

const statusOf = (server: TestServer, path: string): Promise<number> => server.statusOf('GET', path);

describe.each(['v1', 'v2'] as const)('a plugin of version %s', (version) => {
  let plugin: RealPlugin;
  let server: TestServer;
  const socket = socketOf(version);
  const kms = kmsProviders(version, socket, 'vault');
  const own = flags.slice(0, 1); // without reload, so that each plugin has its own check
  const open = (etcd?: RealEtcd): Promise<TestServer> =>
    serveKinds(kinds, {
      flags: own,
      files: { [file]: configuration(...kms) },
      errorsExpected: true,
      ...(etcd && { etcd }),
    });
  const get = (name: string): ReturnType<TestServer['request']> => server.request('GET', `${accounts}/${name}`);
  const healthChecks = (of: TestServer): Promise<number[]> =>
    Promise.all(
      ['/readyz', '/healthz'].flatMap((all) => [all, `${all}/kms-provider-0`]).map((path) => statusOf(of, path)),
    );
  const waitUntilHealthy = async (of: TestServer): Promise<void> => {
    plugin = await startPlugin(socket);
    await until('the return', async () => ((await healthChecks(of)).every((code) => code === 200) ? true : undefined));
  };

  beforeAll(async () => {
    plugin = await startPlugin(socket);
    server = await open();
    await createAccount(server, 'robot');
  });
  afterAll(async () => {
    await server.close();
    await plugin.stop();
  });

  test('that is healthy keeps the server ready, and does not affect liveness', async () => {
    expect(await healthChecks(server)).toEqual([200, 200, 200, 200]);
    expect(await statusOf(server, '/livez/kms-provider-0')).toBe(404);
    expect(prefixOf(await readStoredValue(server, 'robot'))).toBe(`k8s:enc:kms:${version}:vault:`);
  });

  test('that does not respond: cached objects are still readable, and nothing is stored as plaintext', async () => {
    await plugin.stop();
    expect((await get('robot')).status).toBe(200);
    expect((await createAccount(server, 'later')).status).toBe(version === 'v2' ? 201 : 503);
    // A v2 plugin is checked once a minute and its key is used for three; a v1 write calls the plugin at once.
    if (version === 'v1')
      await until('the loss', async () =>
        (await healthChecks(server)).every((code) => code === 500) ? true : undefined,
      );
    expect(await statusOf(server, '/livez')).toBe(200);
    await waitUntilHealthy(server);
    expect((await createAccount(server, 'again')).status).toBe(201);
  });

  test('that starts after the server: until then objects return 503 and cannot be deleted as unreadable', async () => {
    await plugin.stop();
    const other = await open(server.etcd);
    try {
      expect(other.logLines.some((line) => line.includes('KMS plugin unhealthy'))).toBe(true);
      expect(await healthChecks(other)).toEqual([500, 500, 500, 500]);
      for (const [method, path] of [
        ['GET', `${accounts}/robot`],
        ['GET', accounts],
        ['DELETE', `${accounts}/robot?ignoreStoreReadErrorWithClusterBreakingPotential=true`],
      ] as const)
        expect([method, path, (await other.request(method, path)).status]).toEqual([method, path, 503]);
      const refused = await createAccount(other, 'none');
      expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining('KMS plugin')]);
      await waitUntilHealthy(other);
      const found = await until('the objects', async () => {
        const answer = await other.request('GET', accounts);
        return answer.status === 200 ? answer : undefined;
      });
      expect(found.body.items?.every(({ metadata }) => metadata.annotations?.canary === canary)).toBe(true);
      await createAccount(other, 'theirs');
      expect((await get('theirs')).body.metadata.annotations).toEqual({ canary });
    } finally {
      await other.close();
    }
  });

  /** The first replica decrypts what another one has written. */
  async function createByOther(): Promise<void> {
    const other = await open(server.etcd);
    await createAccount(other, 'by-other');
    await other.close();
    await until('the account', async () => ((await get('by-other')).status === 200 ? true : undefined));
  }

  async function failToEncrypt(): Promise<void> {
    await plugin.stop();
    expect((await createAccount(server, 'not-encrypted')).status).toBe(503);
    await waitUntilHealthy(server);
  }

  test('has the metrics of kube-apiserver, with hashes of its key IDs', async () => {
    await createByOther();
    if (version === 'v1') await failToEncrypt();
    const text = await server.metricsPage();
    const service = version === 'v1' ? 'v1beta1' : 'v2';
    expect(text).toContain(
      `apiserver_envelope_encryption_kms_operations_latency_seconds_count{provider_name="vault",method_name="/${service}.KeyManagementService/Encrypt",grpc_status_code="OK"}`,
    );
    const prefix = `transformer_prefix="k8s:enc:kms:${version}:vault:"`;
    for (const metric of [
      `apiserver_storage_transformation_operations_total{transformation_type="to_storage",${prefix},status="OK"}`,
      `apiserver_storage_transformation_duration_seconds_count{transformation_type="from_storage",${prefix}}`,
      'apiserver_storage_envelope_transformation_cache_misses_total',
    ])
      expect(text).toContain(metric);
    if (version === 'v1') {
      expect(text).toContain('grpc_status_code="Unavailable"');
      expect(text).toContain('apiserver_envelope_encryption_dek_cache_fill_percent');
      return;
    }
    const hash = 'sha256:be2974546978e3739e6d6da85c4be9f334ce32df2b9fd4b6ff1b55c0d57e9d44'; // of key-1
    for (const metric of [
      'dek_source_cache_size{provider_name="vault"}',
      `key_id_hash_total{provider_name="vault",transformation_type="to_storage",key_id_hash="${hash}"}`,
      `key_id_hash_last_timestamp_seconds{provider_name="vault",transformation_type="from_storage",key_id_hash="${hash}"}`,
      `key_id_hash_status_last_timestamp_seconds{provider_name="vault",key_id_hash="${hash}"}`,
    ])
      expect(text).toContain(`apiserver_envelope_encryption_${metric}`);
    expect(text).not.toContain('key-1');
  });
});

describe('a reloaded configuration', () => {
  let etcd: RealEtcd;
  let server: TestServer;
  const local = provider('aesgcm', 'a');
  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: true });
    server = await serveKinds(kinds, { flags, files: { [file]: configuration(local) }, etcd, errorsExpected: true });
  });
  afterAll(async () => {
    await server.close();
    await etcd.stop();
  });

  test('is applied once its plugins are healthy, and has one check for all of them', async () => {
    const socket = socketOf('late');
    await reconfigure(server, configuration(...kmsProviders('v2', socket, 'vault'), local));
    expect(server.logLines.at(-1)).toContain('cannot reload the configuration; keeping the previous one');
    expect((await createAccount(server, 'before')).status).toBe(201);
    expect(prefixOf(await readStoredValue(server, 'before'))).toBe('k8s:enc:aesgcm:v1:a:');
    expect(await statusOf(server, '/readyz/kms-providers')).toBe(200);
    const seen = server.logLines.length;
    const plugin = await startPlugin(socket);
    try {
      await until('the configuration', () =>
        server.logLines.slice(seen).some((line) => line.includes('configuration reloaded')) ? true : undefined,
      );
      await createAccount(server, 'later');
      expect(prefixOf(await readStoredValue(server, 'later'))).toBe('k8s:enc:kms:v2:vault:');
      expect(await statusOf(server, '/readyz/kms-provider-0')).toBe(404);
      const failures = server.logLines.filter((line) => line.includes('cannot reload the configuration'));
      expect(failures.length).toBe(1); // retried each second, logged once
      const gone = (await server.request('DELETE', `${accounts}/later`)).status;
      expect(gone).toBe(200);
      await reconfigure(server, configuration(local));
      expect(server.logLines.at(-1)).toContain('configuration reloaded');
    } finally {
      await plugin.stop();
    }
  });

  test('is abandoned when the server closes, including its plugin connections', async () => {
    const connections = new Set<net.Socket>();
    const between = net.createServer((from) => {
      connections.add(from);
      const to = net.connect(socketOf('slow'));
      from.pipe(to).pipe(from);
      for (const one of [from, to]) one.on('error', () => {});
      from.once('close', () => connections.delete(from));
    });
    between.listen(socketOf('between'));
    await once(between, 'listening');
    const plugin = await startPlugin(socketOf('slow'));
    const answers = Promise.withResolvers<void>();
    plugin.ready = answers.promise;
    const closing = await serveKinds(kinds, {
      flags,
      files: { [file]: configuration(local) },
      etcd,
      errorsExpected: true,
    });
    const slow = { kms: { apiVersion: 'v2', name: 'slow', endpoint: `unix://${socketOf('between')}`, timeout: '20s' } };
    await closing.write(file, configuration(slow, local));
    await until('the status call', () => plugin.calls.get('v2 Status'));
    await closing.close();
    answers.resolve();
    await until('the end of the connection', () => (connections.size === 0 ? true : undefined));
    expect(closing.logLines.join()).not.toContain('configuration reloaded');
    between.close();
    await plugin.stop();
  });
});
