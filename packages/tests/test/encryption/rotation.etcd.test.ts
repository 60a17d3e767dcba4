/** Key rotation while replicas serve requests, and invalid configurations. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '@cluster-apiserver/testkit/leaks';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds, withoutEncryption } from '../serve-kinds.ts';
import {
  accounts,
  configuration,
  createAccount,
  file,
  flags,
  provider,
  keyOf,
  readStoredValue,
  reconfigure,
} from './configuration.ts';
import { runStorage } from './run-storage.ts';

const open = (text: string, etcd?: RealEtcd): Promise<TestServer> =>
  serveKinds(kinds, { flags, files: { [file]: text }, errorsExpected: true, ...(etcd && { etcd }) });
const withKeys = (...names: string[]): string => configuration(provider('aesgcm', ...names));

describe('key rotation', () => {
  let etcd: RealEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: true });
  });
  afterAll(() => etcd.stop());

  test('unreadable objects become readable once their key is configured', async () => {
    const first = await open(withKeys('z'), etcd);
    await createAccount(first, 'robot');
    await first.close();
    const second = await open(withKeys('b'), etcd);
    try {
      const lost = await second.request('GET', `${accounts}/robot`);
      expect(lost.status).toBe(500);
      expect(lost.body).toMatchObject({ message: expect.stringContaining(keyOf('robot')) });
      await reconfigure(second, withKeys('b', 'z'));
      const found = await until('the object', async () => {
        const answer = await second.request('GET', `${accounts}/robot`);
        return answer.status === 200 ? answer : undefined;
      });
      expect(found.body.metadata.annotations).toEqual({ canary });
      await second.request('DELETE', `${accounts}/robot`);
    } finally {
      await second.close();
    }
  });

  test('watches through versions that a replica could not read get them once their key is configured', async () => {
    const [ahead, behind] = [await open(withKeys('new', 'old'), etcd), await open(withKeys('old'), etcd)];
    try {
      const { body } = await createAccount(ahead, 'hidden');
      for (const turn of ['1', '2']) {
        const change = { metadata: { labels: { turn } } };
        await ahead.request('PATCH', `${accounts}/hidden`, change, 'application/merge-patch+json');
      }
      const target = `${accounts}?watch=true&timeoutSeconds=5&resourceVersion=${Number(body.metadata.resourceVersion) - 1}`;
      const events = async (count: number): Promise<string[]> => {
        const stream = await behind.open('GET', target);
        const seen: string[] = [];
        for await (const line of readline.createInterface({ input: stream })) {
          const { type, object } = JSON.parse(line) as { type: string; object: { reason?: string } };
          seen.push(object.reason ?? type);
          if (seen.length === count) break;
        }
        stream.destroy();
        return seen;
      };
      await until('the objects', async () => (await behind.request('GET', `${accounts}/hidden`)).status === 500);
      expect(await events(1)).toEqual(['StorageReadError']);
      await reconfigure(behind, withKeys('old', 'new'));
      await until('the events', async () => (await events(1))[0] === 'ADDED' || undefined);
      expect(await events(3)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED']);
      await ahead.request('DELETE', `${accounts}/hidden`);
    } finally {
      for (const server of [ahead, behind]) await server.close();
    }
  });

  test('a rotation under load of two replicas fails no request and no watch: add, promote, rewrite, remove', async () => {
    const replicas = [await open(withKeys('a'), etcd), await open(withKeys('a'), etcd)];
    const objects = 40;
    const name = (n: number): string => `busy-${n % objects}`;
    const failures: string[] = [];
    let eventCount = 0;
    let loading = true;
    let requests = 0;
    const request = async (server: TestServer, ...request: Parameters<TestServer['request']>): Promise<void> => {
      const { status, body } = await server.request(...request);
      requests++;
      if (status >= 300) failures.push(JSON.stringify([request, body]));
    };
    const worker = async (n: number): Promise<void> => {
      const server = replicas[n % 2] as TestServer;
      for (let turn = n; loading; turn += 7) {
        const path = `${accounts}/${name(turn)}`;
        const change = { metadata: { labels: { turn: `${n}-${turn}` } } };
        await request(server, 'PATCH', path, change, 'application/merge-patch+json');
        await request(server, 'GET', path);
        await request(server, 'GET', turn % 2 ? accounts : `${accounts}?resourceVersion=0&limit=5`);
        await request(server, 'POST', accounts, { metadata: { name: `new-${n}-${turn}`, annotations: { canary } } });
        await request(server, 'DELETE', `${accounts}/new-${n}-${turn}`);
      }
    };
    const watch = async (server: TestServer): Promise<void> => {
      const stream = await server.open('GET', `${accounts}?watch=true`);
      stream.once('end', () => loading && failures.push('a watch ended'));
      for await (const line of readline.createInterface({ input: stream })) {
        eventCount++;
        if (line.startsWith('{"type":"ERROR"')) failures.push(line);
        if (!loading) return stream.destroy() && undefined;
      }
    };
    const reconfigureAll = async (...keys: string[]): Promise<void> => {
      await Promise.all(replicas.map((server) => reconfigure(server, withKeys(...keys))));
      const since = requests;
      await until('requests in between', () => (requests > since + 40 ? true : undefined));
    };
    try {
      await Promise.all(Array.from({ length: objects }, (_, n) => createAccount(replicas[0] as TestServer, name(n))));
      const watches = replicas.map(watch);
      const workers = Promise.all([0, 1, 2, 3].map(worker));
      await reconfigureAll('a', 'b');
      await reconfigureAll('b', 'a');
      const rewritten = await runStorage(etcd, withKeys('b', 'a'), 'rewrite', '--objects-per-second=500');
      expect([rewritten.code, rewritten.lines.at(-1)]).toEqual([0, expect.stringContaining('0 unreadable')]);
      const { lines } = await runStorage(etcd, withKeys('b', 'a'), 'inspect');
      const ofAccounts = lines.filter((line) => line.startsWith('serviceaccounts'));
      expect(ofAccounts.join()).toMatch(/^serviceaccounts\tk8s:enc:aesgcm:v1:b:\t\d+$/);
      await reconfigureAll('b');
      loading = false;
      await workers;
      await createAccount(replicas[0] as TestServer, 'last'); // delivers an event to the watches
      await Promise.all(watches);
      expect(failures).toEqual([]);
      expect(requests).toBeGreaterThan(120);
      expect(eventCount).toBeGreaterThan(40);
    } finally {
      loading = false;
      for (const server of replicas) await server.close();
    }
  });
});

test.each(['aesgcm', 'aescbc', 'secretbox'] as const)(
  'an invalid configuration of %s changes nothing, and the log does not contain a key',
  async (type) => {
    const server = await open(configuration(provider(type, 'a')));
    try {
      const secret = Buffer.alloc(20, 'x').toString('base64');
      await reconfigure(server, configuration({ [type]: { keys: [{ name: 'short', secret }] } }));
      const complaint = server.logLines.find((line) => line.includes('cannot reload the configuration'));
      expect(complaint).toContain(`resources[0].providers[0].${type}.keys[0].secret: the key has 20 bytes`);
      expect(complaint).not.toContain(secret);
      expect((await createAccount(server, 'still')).status).toBe(201);
    } finally {
      await server.close();
    }
  },
);

test('a server with an invalid configuration does not start, and reports all errors', async () => {
  const text = configuration({ aesgcm: { keys: [{ name: 'a', secret: 'x' }] } }, {});
  await expect(open(text)).rejects.toThrow(/secret: expected bytes in base64.*\n.*providers\[1\]: set exactly one/);
  await expect(serveKinds(kinds, { flags })).rejects.toThrow(
    '--encryption-provider-config: cannot read encryption.yaml',
  );
});

test('a server without a configuration does not read encrypted values as objects', async () => {
  const server = await serveKinds(kinds, { flags: [withoutEncryption], errorsExpected: true });
  try {
    await createAccount(server, 'robot');
    expect((await readStoredValue(server, 'robot')).toString()).toContain(canary);
    await putRaw(server.etcd.endpoints[0] as string, keyOf('robot'), Buffer.from('k8s:enc:aesgcm:v1:a:xyz'));
    const found = await until('the change', async () => {
      const answer = await server.request('GET', `${accounts}/robot`);
      return answer.status === 500 ? answer : undefined;
    });
    expect(found.body).toMatchObject({ message: expect.stringContaining(keyOf('robot')) });
  } finally {
    await server.close();
  }
});
