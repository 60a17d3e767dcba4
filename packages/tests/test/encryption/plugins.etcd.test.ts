/** Keys that a plugin keeps: what the server does without it, and what it tells of it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '../../../storage/test/leaks.ts';
import { type RealPlugin, startPlugin } from '../../../storage/test/kms-plugin.ts';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { until } from '../../../base/test/until.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';
import {
  accounts,
  configuration,
  create,
  file,
  flags,
  keyed,
  plugins,
  prefixOf,
  raw,
  reconfigure,
} from './configuration.ts';

const socketOf = (name: string): string => path.join(os.tmpdir(), `kms-${name}-${process.pid}.sock`);

const statusOf = async (server: ServedKinds, path: string): Promise<number> => {
  const answer = await server.open('GET', path);
  answer.resume();
  return answer.statusCode ?? 0;
};

const metricsOf = async (server: ServedKinds): Promise<string> => {
  const pieces: Buffer[] = [];
  for await (const piece of await server.open('GET', '/metrics')) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
};

describe.each(['v1', 'v2'] as const)('a plugin of version %s', (version) => {
  let plugin: RealPlugin;
  let server: ServedKinds;
  const socket = socketOf(version);
  const kms = plugins(version, socket, 'vault');
  const own = flags.slice(0, 1); // without reload, so each plugin has its check
  const open = (etcd?: RealEtcd): Promise<ServedKinds> =>
    serveKinds(kinds, {
      flags: own,
      files: { [file]: configuration(...kms) },
      errorsExpected: true,
      ...(etcd && { etcd }),
    });
  const get = (name: string): ReturnType<ServedKinds['ask']> => server.ask('GET', `${accounts}/${name}`);
  const checks = (of: ServedKinds): Promise<number[]> =>
    Promise.all(
      ['/readyz', '/healthz'].flatMap((all) => [all, `${all}/kms-provider-0`]).map((path) => statusOf(of, path)),
    );
  const back = async (of: ServedKinds): Promise<void> => {
    plugin = await startPlugin(socket);
    await until('the return', async () => ((await checks(of)).every((code) => code === 200) ? true : undefined));
  };

  beforeAll(async () => {
    plugin = await startPlugin(socket);
    server = await open();
  });
  afterAll(async () => {
    await server.close();
    await plugin.stop();
  });

  test('that is well keeps the server ready, and is no reason to live or not', async () => {
    expect(await checks(server)).toEqual([200, 200, 200, 200]);
    expect(await statusOf(server, '/livez/kms-provider-0')).toBe(404);
    await create(server, 'robot');
    expect(prefixOf(await raw(server, 'robot'))).toBe(`k8s:enc:kms:${version}:vault:`);
  });

  test('that is silent: what is known is read all the same, and nothing is stored in clear', async () => {
    await plugin.stop();
    expect((await get('robot')).status).toBe(200);
    expect((await create(server, 'later')).status).toBe(version === 'v2' ? 201 : 503);
    // Version 2 is asked once in a minute, and trusted for three; a write of version 1 meets the silence at once.
    if (version === 'v1')
      await until('the loss', async () => ((await checks(server)).every((code) => code === 500) ? true : undefined));
    expect(await statusOf(server, '/livez')).toBe(200);
    await back(server);
    expect((await create(server, 'again')).status).toBe(201);
  });

  test('that comes later than the server: objects answer 503, cannot be deleted as unreadable, and then are there', async () => {
    await plugin.stop();
    const other = await open(server.etcd);
    try {
      expect(other.logged.some((line) => line.includes('KMS plugin unhealthy'))).toBe(true);
      expect(await checks(other)).toEqual([500, 500, 500, 500]);
      for (const [method, path] of [
        ['GET', `${accounts}/robot`],
        ['GET', accounts],
        ['DELETE', `${accounts}/robot?ignoreStoreReadErrorWithClusterBreakingPotential=true`],
      ] as const)
        expect([method, path, (await other.ask(method, path)).status]).toEqual([method, path, 503]);
      const refused = await create(other, 'none');
      expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining('key management plugin')]);
      await back(other);
      const found = await until('the objects', async () => {
        const answer = await other.ask('GET', accounts);
        return answer.status === 200 ? answer : undefined;
      });
      expect(found.body.items?.every(({ metadata }) => metadata.annotations?.canary === canary)).toBe(true);
      await create(other, 'theirs');
      expect((await get('theirs')).body.metadata.annotations).toEqual({ canary });
    } finally {
      await other.close();
    }
  });

  test('is counted under the names of the reference, its keys by their hashes', async () => {
    const text = await metricsOf(server);
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

describe('a configuration that is read again', () => {
  let etcd: RealEtcd;
  let server: ServedKinds;
  const local = keyed('aesgcm', 'a');
  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: true });
    server = await serveKinds(kinds, { flags, files: { [file]: configuration(local) }, etcd, errorsExpected: true });
  });
  afterAll(async () => {
    await server.close();
    await etcd.stop();
  });

  test('waits for its plugins to be well, and has one check for all of them', async () => {
    const socket = socketOf('late');
    await reconfigure(server, configuration(...plugins('v2', socket, 'vault'), local));
    expect(server.logged.at(-1)).toContain('cannot reload the configuration; keeping the previous one');
    expect((await create(server, 'before')).status).toBe(201);
    expect(prefixOf(await raw(server, 'before'))).toBe('k8s:enc:aesgcm:v1:a:');
    expect(await statusOf(server, '/readyz/kms-providers')).toBe(200);
    const seen = server.logged.length;
    const plugin = await startPlugin(socket);
    try {
      await until('the configuration', () =>
        server.logged.slice(seen).some((line) => line.includes('configuration reloaded')) ? true : undefined,
      );
      await create(server, 'behind');
      expect(prefixOf(await raw(server, 'behind'))).toBe('k8s:enc:kms:v2:vault:');
      expect(await statusOf(server, '/readyz/kms-provider-0')).toBe(404);
      const failures = server.logged.filter((line) => line.includes('cannot reload the configuration'));
      expect(failures.length).toBe(1); // tried each second, told once
      const gone = (await server.ask('DELETE', `${accounts}/behind`)).status;
      expect(gone).toBe(200);
      await reconfigure(server, configuration(local));
      expect(server.logged.at(-1)).toContain('configuration reloaded');
    } finally {
      await plugin.stop();
    }
  });

  test('is let go of when the server closes meanwhile: nobody stays connected with its plugins', async () => {
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
    await until('the question', () => plugin.calls.get('v2 Status'));
    await closing.close();
    answers.resolve();
    await until('the end of the connection', () => (connections.size === 0 ? true : undefined));
    expect(closing.logged.join()).not.toContain('configuration reloaded');
    between.close();
    await plugin.stop();
  });
});
