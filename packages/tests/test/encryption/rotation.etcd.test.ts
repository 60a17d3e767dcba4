/** Keys that come and go while replicas serve, and configurations that cannot be used. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '../../../storage/test/leaks.ts';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { until } from '../../../base/test/until.ts';
import { putRaw } from '../etcd.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';
import { accounts, configuration, create, file, flags, keyed, keyOf, raw, reconfigure } from './configuration.ts';
import { runStorage } from './run-storage.ts';

const open = (text: string, etcd?: RealEtcd): Promise<ServedKinds> =>
  serveKinds(kinds, { flags, files: { [file]: text }, errorsExpected: true, ...(etcd && { etcd }) });
const byKeys = (...names: string[]): string => configuration(keyed('aesgcm', ...names));

describe('keys that come and go', () => {
  let etcd: RealEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: true });
  });
  afterAll(() => etcd.stop());

  test('what could not be read can be, once its key is configured', async () => {
    const first = await open(byKeys('z'), etcd);
    await create(first, 'robot');
    await first.close();
    const second = await open(byKeys('b'), etcd);
    try {
      const lost = await second.ask('GET', `${accounts}/robot`);
      expect(lost.status).toBe(500);
      expect(lost.body).toMatchObject({ message: expect.stringContaining(keyOf('robot')) });
      await reconfigure(second, byKeys('b', 'z'));
      const found = await until('the object', async () => {
        const answer = await second.ask('GET', `${accounts}/robot`);
        return answer.status === 200 ? answer : undefined;
      });
      expect(found.body.metadata.annotations).toEqual({ canary });
      await second.ask('DELETE', `${accounts}/robot`);
    } finally {
      await second.close();
    }
  });

  test('a rotation under load of two replicas fails no request and no watch: add, promote, rewrite, remove', async () => {
    const replicas = [await open(byKeys('a'), etcd), await open(byKeys('a'), etcd)];
    const objects = 40;
    const name = (n: number): string => `busy-${n % objects}`;
    const failures: string[] = [];
    let told = 0;
    let loading = true;
    let requests = 0;
    const ask = async (server: ServedKinds, ...request: Parameters<ServedKinds['ask']>): Promise<void> => {
      const { status, body } = await server.ask(...request);
      requests++;
      if (status >= 300) failures.push(JSON.stringify([request, body]));
    };
    const worker = async (n: number): Promise<void> => {
      const server = replicas[n % 2] as ServedKinds;
      for (let turn = n; loading; turn += 7) {
        const path = `${accounts}/${name(turn)}`;
        const change = { metadata: { labels: { turn: `${n}-${turn}` } } };
        await ask(server, 'PATCH', path, change, 'application/merge-patch+json');
        await ask(server, 'GET', path);
        await ask(server, 'GET', turn % 2 ? accounts : `${accounts}?resourceVersion=0&limit=5`);
        await ask(server, 'POST', accounts, { metadata: { name: `new-${n}-${turn}`, annotations: { canary } } });
        await ask(server, 'DELETE', `${accounts}/new-${n}-${turn}`);
      }
    };
    const watch = async (server: ServedKinds): Promise<void> => {
      const stream = await server.open('GET', `${accounts}?watch=true`);
      stream.once('end', () => loading && failures.push('a watch ended'));
      for await (const line of readline.createInterface({ input: stream })) {
        told++;
        if (line.startsWith('{"type":"ERROR"')) failures.push(line);
        if (!loading) return stream.destroy() && undefined;
      }
    };
    const everywhere = async (...keys: string[]): Promise<void> => {
      await Promise.all(replicas.map((server) => reconfigure(server, byKeys(...keys))));
      const since = requests;
      await until('load in between', () => (requests > since + 40 ? true : undefined));
    };
    try {
      await Promise.all(Array.from({ length: objects }, (_, n) => create(replicas[0] as ServedKinds, name(n))));
      const watches = replicas.map(watch);
      const workers = Promise.all([0, 1, 2, 3].map(worker));
      await everywhere('a', 'b');
      await everywhere('b', 'a');
      const rewritten = await runStorage(etcd, byKeys('b', 'a'), 'rewrite', '--objects-per-second=500');
      expect([rewritten.code, rewritten.lines.at(-1)]).toEqual([0, expect.stringContaining('0 unreadable')]);
      const { lines } = await runStorage(etcd, byKeys('b', 'a'), 'inspect');
      const ofAccounts = lines.filter((line) => line.startsWith('serviceaccounts'));
      expect(ofAccounts.join()).toMatch(/^serviceaccounts\tk8s:enc:aesgcm:v1:b:\t\d+$/);
      await everywhere('b');
      loading = false;
      await workers;
      await create(replicas[0] as ServedKinds, 'last'); // wakes the watches
      await Promise.all(watches);
      expect(failures).toEqual([]);
      expect(requests).toBeGreaterThan(120);
      expect(told).toBeGreaterThan(40);
    } finally {
      loading = false;
      for (const server of replicas) await server.close();
    }
  });
});

test.each(['aesgcm', 'aescbc', 'secretbox'] as const)(
  'a faulty configuration of %s changes nothing and is told, without a key',
  async (type) => {
    const server = await open(configuration(keyed(type, 'a')));
    try {
      const secret = Buffer.alloc(20, 'x').toString('base64');
      await reconfigure(server, configuration({ [type]: { keys: [{ name: 'short', secret }] } }));
      const complaint = server.logged.find((line) => line.includes('cannot reload the configuration'));
      expect(complaint).toContain(`resources[0].providers[0].${type}.keys[0].secret: the key has 20 bytes`);
      expect(complaint).not.toContain(secret);
      expect((await create(server, 'still')).status).toBe(201);
    } finally {
      await server.close();
    }
  },
);

test('a server with a faulty configuration does not start, and says all that is wrong', async () => {
  const text = configuration({ aesgcm: { keys: [{ name: 'a', secret: 'x' }] } }, {});
  await expect(open(text)).rejects.toThrow(/secret: is not base64\n.*providers\[1\]: set exactly one/);
  await expect(serveKinds(kinds, { flags })).rejects.toThrow(
    '--encryption-provider-config: cannot read encryption.yaml',
  );
});

test('a server without a configuration takes nothing encrypted for an object', async () => {
  const server = await serveKinds(kinds, { errorsExpected: true });
  try {
    await create(server, 'robot');
    expect((await raw(server, 'robot')).toString()).toContain(canary);
    await putRaw(server.etcd.endpoints[0] as string, keyOf('robot'), Buffer.from('k8s:enc:aesgcm:v1:a:xyz'));
    const found = await until('the change', async () => {
      const answer = await server.ask('GET', `${accounts}/robot`);
      return answer.status === 500 ? answer : undefined;
    });
    expect(found.body).toMatchObject({ message: expect.stringContaining(keyOf('robot')) });
  } finally {
    await server.close();
  }
});
