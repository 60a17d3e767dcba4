/** The whole server with an encryption configuration, and what then lies in a real etcd: no canary, as each shows when it is closed. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealPlugin, startPlugin } from '../../../storage/test/kms-plugin.ts';
import { canary } from '../../../storage/test/leaks.ts';
import { type RealEtcd, startEtcd, until } from '../../../storage/test/real-etcd.ts';
import { putRaw } from '../etcd.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';
import { accounts, configuration, create, file, flags, keyed, keyOf, prefixOf, raw } from './configuration.ts';

const open = (text: string, etcd?: RealEtcd): Promise<ServedKinds> =>
  serveKinds(kinds, { flags, files: { [file]: text }, errorsExpected: true, ...(etcd && { etcd }) });

/** Takes a configuration into service, and returns when the server says so. */
async function reconfigure(server: ServedKinds, text: string): Promise<void> {
  const before = server.logged.length;
  await server.write(file, text);
  await until('the new configuration', () =>
    server.logged.slice(before).some((line) => line.includes('encryption configuration')) ? true : undefined,
  );
}

const providers = [
  ['aesgcm', 'k8s:enc:aesgcm:v1:a:'],
  ['aescbc', 'k8s:enc:aescbc:v1:a:'],
  ['secretbox', 'k8s:enc:secretbox:v1:a:'],
] as const;

describe.each(providers)('with %s', (type, prefix) => {
  let server: ServedKinds;
  const put = (name: string, value: Buffer): Promise<void> =>
    putRaw(server.etcd.endpoints[0] as string, keyOf(name), value);
  const names = async (): Promise<(string | undefined)[]> =>
    ((await server.ask('GET', accounts)).body.items ?? []).map(({ metadata }) => metadata.name);

  beforeAll(async () => {
    server = await open(configuration(keyed(type, 'a'), { identity: {} }));
  });
  afterAll(() => server.close());

  test('what is written is stored behind its prefix, and read, listed, replaced and watched as ever', async () => {
    expect((await create(server, 'robot')).status).toBe(201);
    expect(prefixOf(await raw(server, 'robot'))).toBe(prefix);
    const found = await server.ask('GET', `${accounts}/robot`);
    expect(found.body.metadata.annotations).toEqual({ canary });
    expect(await names()).toContain('robot');
    const watch = await server.open(
      'GET',
      `${accounts}?watch=true&resourceVersion=${found.body.metadata.resourceVersion}`,
    );
    const lines = readline.createInterface({ input: watch })[Symbol.asyncIterator]();
    const changed = { ...found.body, metadata: { ...found.body.metadata, labels: { changed: 'yes' } } };
    expect((await server.ask('PUT', `${accounts}/robot`, changed)).status).toBe(200);
    expect(JSON.parse((await lines.next()).value as string)).toMatchObject({
      type: 'MODIFIED',
      object: { metadata: { labels: { changed: 'yes' }, annotations: { canary } } },
    });
    watch.destroy();
    expect(prefixOf(await raw(server, 'robot'))).toBe(prefix);
  });

  test('what does not change is not written', async () => {
    const before = (await create(server, 'quiet')).body.metadata.resourceVersion;
    const same = await server.ask('PATCH', `${accounts}/quiet`, {}, 'application/merge-patch+json');
    expect(same.body.metadata.resourceVersion).toBe(before);
  });

  test('a value in clear is read, and encrypted by an update that changes nothing', async () => {
    await create(server, 'plain');
    const { body } = await server.ask('GET', `${accounts}/plain`);
    const { resourceVersion: _, ...metadata } = body.metadata;
    const inClear = JSON.stringify({ ...body, metadata }).replaceAll(canary, 'sparrow');
    await put('plain', Buffer.from(inClear));
    const patched = await server.ask('PATCH', `${accounts}/plain`, {}, 'application/merge-patch+json');
    expect(patched.status).toBe(200);
    expect(patched.body.metadata.uid).toBe(metadata.uid);
    expect(prefixOf(await raw(server, 'plain'))).toBe(prefix);
  });

  test('a value under another key is not taken for the object of that name', async () => {
    await create(server, 'here');
    await put('there', await raw(server, 'here'));
    const found = await server.ask('GET', `${accounts}/there`);
    expect(found.status).toBe(500);
    expect(found.body).toMatchObject({ reason: 'InternalError', message: expect.stringContaining(keyOf('there')) });
    const listed = await server.ask('GET', accounts);
    expect(listed.status).toBe(500);
    expect(listed.body).toMatchObject({ message: expect.stringContaining(keyOf('there')) });
  });

  test('the configuration is read again, other keys write, and what an older one wrote is written anew', async () => {
    await create(server, 'rotated');
    await reconfigure(server, configuration(keyed(type, 'a', 'b'), { identity: {} }));
    expect(prefixOf(await raw(server, 'rotated'))).toBe(prefix);
    await reconfigure(server, configuration(keyed(type, 'b', 'a'), { identity: {} }));
    const patch = (): Promise<unknown> =>
      server.ask('PATCH', `${accounts}/rotated`, {}, 'application/merge-patch+json');
    await patch();
    const rewritten = await raw(server, 'rotated');
    expect(prefixOf(rewritten)).toBe(prefix.replace(':a:', ':b:'));
    await patch();
    expect(await raw(server, 'rotated')).toEqual(rewritten);
  });

  test('a faulty configuration changes nothing and is told, without a key', async () => {
    const secret = Buffer.alloc(20, 'x').toString('base64');
    await reconfigure(server, configuration({ [type]: { keys: [{ name: 'short', secret }] } }));
    const complaint = server.logged.find((line) => line.includes('not usable'));
    expect(complaint).toContain(`resources[0].providers[0].${type}.keys[0].secret: the key has 20 bytes`);
    expect(complaint).not.toContain(secret);
    expect((await create(server, 'still')).status).toBe(201);
  });
});

describe.each(['v1', 'v2'])('with a plugin of version %s', (version) => {
  let plugin: RealPlugin;
  let server: ServedKinds;
  const socket = path.join(os.tmpdir(), `kms-${version}-${process.pid}.sock`);
  const own = flags.slice(0, 1); // without reload, so each plugin has its check
  const prefix = `k8s:enc:kms:${version}:vault:`;
  const kms = { kms: { apiVersion: version, name: 'vault', endpoint: `unix://${socket}` } };
  beforeAll(async () => {
    plugin = await startPlugin(socket);
    const files = { [file]: configuration(kms, { identity: {} }) };
    server = await serveKinds(kinds, { flags: own, files, errorsExpected: true });
  });
  afterAll(async () => {
    await server.close();
    await plugin.stop();
  });
  const ready = async (): Promise<number> => {
    const answer = await server.open('GET', '/readyz/kms-provider-0');
    answer.resume();
    return answer.statusCode ?? 0;
  };

  test('what is written is stored in its envelope, and read, listed, changed and not moved', async () => {
    expect(await ready()).toBe(200);
    await create(server, 'robot');
    expect(prefixOf(await raw(server, 'robot'))).toBe(prefix);
    const before = await raw(server, 'robot');
    const patch = { metadata: { labels: { a: 'b' } } };
    expect((await server.ask('PATCH', `${accounts}/robot`, patch, 'application/merge-patch+json')).status).toBe(200);
    expect(await raw(server, 'robot')).not.toEqual(before);
    expect((await server.ask('GET', accounts)).body.items).toHaveLength(1);
    await putRaw(server.etcd.endpoints[0] as string, keyOf('moved'), before);
    expect((await server.ask('GET', `${accounts}/moved`)).status).toBe(500);
  });

  test('while the plugin is silent the server is not ready, and what is known is read all the same', async () => {
    await plugin.stop();
    await until('the loss', async () => {
      if (version === 'v2') return true; // asked once in a minute, and trusted for three
      return (await ready()) === 500 ? true : undefined;
    });
    expect((await server.ask('GET', `${accounts}/robot`)).status).toBe(200);
    expect((await create(server, 'later')).status).toBe(version === 'v2' ? 201 : 503);
    plugin = await startPlugin(socket);
    await until('the return', async () => ((await ready()) === 200 ? true : undefined));
    expect((await create(server, 'again')).status).toBe(201);
  });

  test('another replica, with a seed of its own, reads all of it', async () => {
    const files = { [file]: configuration(kms) };
    const other = await serveKinds(kinds, { flags: own, files, etcd: server.etcd, errorsExpected: true });
    try {
      expect((await other.ask('GET', `${accounts}/robot`)).status).toBe(200);
      await create(other, 'theirs');
      expect((await server.ask('GET', `${accounts}/theirs`)).body.metadata.annotations).toEqual({ canary });
    } finally {
      await other.close();
    }
  });
});

describe('keys that come and go', () => {
  let etcd: RealEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: true });
  });
  afterAll(() => etcd.stop());

  test('what could not be read can be, once its key is configured', async () => {
    const first = await open(configuration(keyed('aesgcm', 'a')), etcd);
    await create(first, 'robot');
    await first.close();
    const second = await open(configuration(keyed('aesgcm', 'b')), etcd);
    try {
      const lost = await second.ask('GET', `${accounts}/robot`);
      expect(lost.status).toBe(500);
      expect(lost.body).toMatchObject({ message: expect.stringContaining(keyOf('robot')) });
      await reconfigure(second, configuration(keyed('aesgcm', 'b', 'a')));
      const found = await until('the object', async () => {
        const answer = await second.ask('GET', `${accounts}/robot`);
        return answer.status === 200 ? answer : undefined;
      });
      expect(found.body.metadata.annotations).toEqual({ canary });
      expect((await second.ask('GET', accounts)).status).toBe(200);
    } finally {
      await second.close();
    }
  });

  test('a rotation under load fails no request: add, promote, write all anew, remove', async () => {
    const name = (n: number): string => `busy-${n}`;
    const server = await open(configuration(keyed('aesgcm', 'a')), etcd);
    const failures: string[] = [];
    let loading = true;
    let requests = 0;
    try {
      await Promise.all(Array.from({ length: 20 }, (_, n) => create(server, name(n))));
      const patch = async (n: number, change: object): Promise<void> => {
        const path = `${accounts}/${name(n)}`;
        const answer = await server.ask('PATCH', path, change, 'application/merge-patch+json');
        requests++;
        if (answer.status !== 200) failures.push(JSON.stringify(answer.body));
      };
      const worker = async (n: number): Promise<void> => {
        for (let turn = 0; loading; turn++) {
          await patch((n * 5 + turn) % 20, { metadata: { labels: { turn: `${n}-${turn}` } } });
          const list = await server.ask('GET', turn % 2 ? accounts : `${accounts}/${name(turn % 20)}`);
          if (list.status !== 200) failures.push(JSON.stringify(list.body));
        }
      };
      const workers = Promise.all([0, 1, 2, 3].map(worker));
      await reconfigure(server, configuration(keyed('aesgcm', 'a', 'b')));
      await reconfigure(server, configuration(keyed('aesgcm', 'b', 'a')));
      await Promise.all(Array.from({ length: 20 }, (_, n) => patch(n, {})));
      const rewritten = await Promise.all(Array.from({ length: 20 }, (_, n) => raw(server, name(n))));
      expect(new Set(rewritten.map(prefixOf))).toEqual(new Set(['k8s:enc:aesgcm:v1:b:']));
      await server.ask('DELETE', `${accounts}/robot`); // the other test's, written with the key that goes
      await reconfigure(server, configuration(keyed('aesgcm', 'b')));
      const since = requests;
      await until('more load', () => (requests > since + 20 ? true : undefined));
      loading = false;
      await workers;
      expect(failures).toEqual([]);
      expect(requests).toBeGreaterThan(40);
    } finally {
      loading = false;
      await server.close();
    }
  });
});

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
