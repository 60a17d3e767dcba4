/** Requirements on every encryption provider, through the whole server and in the bytes of a real etcd. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { seededRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '@cluster-apiserver/testkit/leaks';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import {
  accounts,
  configuration,
  createAccount,
  file,
  flags,
  flipBits,
  provider,
  keyOf,
  kmsProviders,
  prefixOf,
  readStoredValue,
  reconfigure,
} from './configuration.ts';

interface Tested {
  readonly name: string;
  /** The prefix of values that are encrypted with this key. */
  prefix(key: string): string;
  /** The provider configuration with these keys, in this order. */
  by(...keys: string[]): object[];
  /** Whether the provider rejects values that it did not write, or not under this key. */
  readonly authenticates: boolean;
}

const socket = path.join(os.tmpdir(), `kms-providers-${process.pid}.sock`);
const localProvider = (name: 'aesgcm' | 'aescbc' | 'secretbox', authenticates: boolean): Tested => ({
  name,
  prefix: (key) => `k8s:enc:${name}:v1:${key}:`,
  by: (...keys) => [provider(name, ...keys)],
  authenticates,
});
const kmsProvider = (version: 'v1' | 'v2'): Tested => ({
  name: `kms ${version}`,
  prefix: (key) => `k8s:enc:kms:${version}:${key}:`,
  by: (...keys) => kmsProviders(version, socket, ...keys),
  authenticates: true,
});
const providers: readonly Tested[] = [
  localProvider('aesgcm', true),
  localProvider('aescbc', false),
  localProvider('secretbox', true),
  kmsProvider('v1'),
  kmsProvider('v2'),
  {
    name: 'identity',
    prefix: (key) => (key === 'a' ? '' : `k8s:enc:aesgcm:v1:${key}:`),
    by: (...keys) => keys.map((key) => (key === 'a' ? { identity: {} } : provider('aesgcm', key))),
    authenticates: false,
  },
];

const flips = 120;

const openServer = (etcd: RealEtcd, providers: object[]): Promise<TestServer> =>
  serveKinds(kinds, { flags, files: { [file]: configuration(...providers) }, etcd, errorsExpected: true });
const get = (server: TestServer, name: string): Promise<JsonResponse> => server.request('GET', `${accounts}/${name}`);
const merge = (server: TestServer, name: string, change: object): Promise<JsonResponse> =>
  server.request('PATCH', `${accounts}/${name}`, change, 'application/merge-patch+json');
const listNames = async (server: TestServer): Promise<(string | undefined)[]> =>
  ((await server.request('GET', accounts)).body.items ?? []).map(({ metadata }) => metadata.name);

let plugin: RealPlugin;
beforeAll(async () => {
  plugin = await startPlugin(socket);
});
afterAll(() => plugin.stop());

describe.each(providers)('$name', ({ name: provider, prefix, by, authenticates }) => {
  let server: TestServer;
  let etcd: RealEtcd;
  const put = (name: string, value: Buffer): Promise<void> =>
    putRaw(server.etcd.endpoints[0] as string, keyOf(name), value);
  const expectUnreadable = async (name: string): Promise<void> => {
    const message = expect.stringContaining(keyOf(name));
    for (const [path, reason] of [
      [`${accounts}/${name}`, 'InternalError'],
      [accounts, 'StorageReadError'],
    ] as const) {
      const { status, body } = await server.request('GET', path);
      expect([path, status, body]).toEqual([path, 500, expect.objectContaining({ reason, message })]);
    }
  };

  beforeAll(async () => {
    etcd = await startEtcd({ encrypted: provider !== 'identity' });
    server = await openServer(etcd, by('a'));
  });
  afterAll(async () => {
    await server.close();
    await etcd.stop();
  });

  test('create: encrypted after its prefix', async () => {
    expect((await createAccount(server, 'made')).status).toBe(201);
    const value = await readStoredValue(server, 'made');
    expect(prefixOf(value)).toBe(prefix('a'));
    expect(value.includes(canary)).toBe(provider === 'identity');
    await server.request('DELETE', `${accounts}/made`);
    await createAccount(server, 'made');
    expect(await readStoredValue(server, 'made')).not.toEqual(value);
  });

  test('reads and lists its own values', async () => {
    await createAccount(server, 'read');
    expect((await get(server, 'read')).body.metadata.annotations).toEqual({ canary });
    expect(await listNames(server)).toContain('read');
  });

  test('watch: additions, changes and deletions, each with its object', async () => {
    const from = (await server.request('GET', accounts)).body.metadata.resourceVersion;
    const watch = await server.open('GET', `${accounts}?watch=true&resourceVersion=${from}`);
    const lines = readline.createInterface({ input: watch })[Symbol.asyncIterator]();
    await createAccount(server, 'watched');
    await merge(server, 'watched', { metadata: { labels: { a: 'b' } } });
    await server.request('DELETE', `${accounts}/watched`);
    for (const type of ['ADDED', 'MODIFIED', 'DELETED']) {
      const event = JSON.parse((await lines.next()).value as string);
      expect(event).toMatchObject({ type, object: { metadata: { name: 'watched', annotations: { canary } } } });
    }
    watch.destroy();
  });

  test('update: different bytes with the same prefix, and no write without a change', async () => {
    const { body } = await createAccount(server, 'changed');
    const before = await readStoredValue(server, 'changed');
    expect((await merge(server, 'changed', {})).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect(await readStoredValue(server, 'changed')).toEqual(before);
    const replaced = { ...body, metadata: { ...body.metadata, labels: { changed: 'yes' } } };
    expect((await server.request('PUT', `${accounts}/changed`, replaced)).status).toBe(200);
    const after = await readStoredValue(server, 'changed');
    expect(prefixOf(after)).toBe(prefix('a'));
    expect(after.equals(before)).toBe(false);
    expect((await get(server, 'changed')).body.metadata.labels).toEqual({ changed: 'yes' });
  });

  test('corrupt: truncated, empty and random values are reported by key, and other objects stay readable', async () => {
    await createAccount(server, 'wreck');
    await createAccount(server, 'whole');
    const whole = await readStoredValue(server, 'wreck');
    const begin = Buffer.from(prefix('a'));
    const noise = Buffer.alloc(320, 0xe7);
    for (const wreck of [
      whole.subarray(0, whole.length / 2),
      whole.subarray(0, -1),
      begin,
      Buffer.concat([begin, noise]),
    ]) {
      await put('wreck', wreck);
      await expectUnreadable('wreck');
      expect((await get(server, 'whole')).status).toBe(200);
    }
    await put('wreck', whole);
    expect((await get(server, 'wreck')).body.metadata.annotations).toEqual({ canary });
    expect(await listNames(server)).toContain('wreck');
  });

  test('moved: a value under another key is not read as that object', async () => {
    await createAccount(server, 'here');
    await createAccount(server, 'there');
    const own = await readStoredValue(server, 'there');
    await put('there', await readStoredValue(server, 'here'));
    await expectUnreadable('there');
    await put('there', own);
    expect((await get(server, 'there')).status).toBe(200);
  });

  test('flipped: no bit flip yields another object or crashes the server', async () => {
    await createAccount(server, 'flip');
    const whole = await readStoredValue(server, 'flip');
    const before = (await get(server, 'flip')).body;
    const random = seededRandom(11);
    const stretch = Math.floor((whole.length * 8) / flips);
    for (let n = 0; n < flips; n++) {
      const bit = n * stretch + random.below(stretch); // in every part of the value
      await put('flip', flipBits(whole, bit));
      const { status, body } = await get(server, 'flip');
      if (authenticates) expect({ bit, status, body }).toMatchObject({ bit, status: 500 });
      // Without authentication the content may change, but never the identity of the object.
      else expect([bit, status === 500 || body.metadata.name === 'flip']).toEqual([bit, true]);
    }
    await put('flip', whole);
    expect({ ...(await get(server, 'flip')).body.metadata, resourceVersion: '' }).toEqual({
      ...before.metadata,
      resourceVersion: '',
    });
  });
});

test.each(providers)(
  'rotation of $name: a key is added, becomes primary, becomes the only one; values of older keys are rewritten',
  async ({ name: provider, prefix, by }) => {
    const etcd = await startEtcd({ encrypted: provider !== 'identity' });
    const server = await openServer(etcd, by('a'));
    await createAccount(server, 'rotated');
    await reconfigure(server, configuration(...by('a', 'b')));
    expect(prefixOf(await readStoredValue(server, 'rotated'))).toBe(prefix('a'));
    await reconfigure(server, configuration(...by('b', 'a')));
    expect((await get(server, 'rotated')).body.metadata.annotations).toEqual({ canary });
    await merge(server, 'rotated', {});
    const rewritten = await readStoredValue(server, 'rotated');
    expect(prefixOf(rewritten)).toBe(prefix('b'));
    await merge(server, 'rotated', {});
    expect(await readStoredValue(server, 'rotated')).toEqual(rewritten);
    for (const name of await listNames(server)) await merge(server, String(name), {});
    await reconfigure(server, configuration(...by('b')));
    expect(await listNames(server)).toContain('rotated');
    const values = await Promise.all((await listNames(server)).map((name) => readStoredValue(server, String(name))));
    expect(new Set(values.map(prefixOf))).toEqual(new Set([prefix('b')]));
    await server.close();
    await etcd.stop();
  },
);
