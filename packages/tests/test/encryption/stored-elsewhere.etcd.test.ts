/**
 * Values as kube-apiserver stores them, in every encoding and with every provider: they are read, watched, and
 * rewritten in our format.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { putRaw, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { file, flags, prefixOf } from './configuration.ts';
import { runStorage } from './run-storage.ts';

const data = path.resolve(import.meta.dirname, '..', '..', 'data', 'stored-elsewhere');
const values = JSON.parse(fs.readFileSync(path.join(data, 'values.json'), 'utf8')) as {
  readonly key: string;
  readonly stored: string;
  readonly object: KubeObject;
}[];
const socket = path.join(os.tmpdir(), `kms-elsewhere-${process.pid}.sock`);
const configuration = fs.readFileSync(path.join(data, 'encryption.json'), 'utf8').replaceAll('PLUGIN', socket);

let etcd: RealEtcd;
let plugin: RealPlugin;
let server: TestServer;
const url = (): string => etcd.endpoints[0] as string;
const put = ({ key, stored }: (typeof values)[number]): Promise<void> =>
  putRaw(url(), key, Buffer.from(stored, 'base64'));
const stored = async (key: string): Promise<Buffer> => (await rawValue(url(), key)) as Buffer; // all keys exist
const pathOf = (key: string): string => key.replace(/^\/registry\/(\w+)\/(\w+)/, '/api/v1/namespaces/$2/$1');
const withoutVersion = ({ metadata, ...rest }: KubeObject): object => {
  const { resourceVersion: _, ...others } = metadata;
  return { ...rest, metadata: others };
};
const updateWithoutChange = (key: string): ReturnType<TestServer['request']> =>
  server.request('PATCH', pathOf(key), {}, 'application/merge-patch+json');

beforeAll(async () => {
  plugin = await startPlugin(socket);
  etcd = await startEtcd();
  for (const value of values) await put(value);
  // etcd contains only the values of the other server.
  server = await serveKinds(kinds, {
    flags: [...flags, '--system-namespaces='],
    files: { [file]: configuration },
    etcd,
    errorsExpected: true,
  });
});
afterAll(async () => {
  await server.close();
  await plugin.stop();
  await etcd.stop();
});

test('there are values of every provider and encoding', () => {
  expect(values.length).toBe(48);
  const prefixes = values.map((value) => prefixOf(Buffer.from(value.stored, 'base64')));
  expect(Object.keys(Object.groupBy(prefixes, (prefix) => prefix))).toEqual([
    '',
    'k8s:enc:aesgcm:v1:key1:',
    'k8s:enc:aescbc:v1:key1:',
    'k8s:enc:secretbox:v1:key1:',
    'k8s:enc:kms:v1:older:',
    'k8s:enc:kms:v2:newer:',
  ]);
});

test('lists contain all objects', async () => {
  for (const resource of ['serviceaccounts', 'events']) {
    const { status, body } = await server.request('GET', `/api/v1/${resource}`);
    expect(status).toBe(200);
    const expected = values.filter(({ key }) => key.includes(`/${resource}/`)).map(({ object }) => object);
    const byName = (one: KubeObject, other: KubeObject): number =>
      String(one.metadata.name) < String(other.metadata.name) ? -1 : 1;
    const { kind, apiVersion } = expected[0] as KubeObject;
    const found = (body.items ?? []).map((item) => withoutVersion({ ...item, kind, apiVersion } as KubeObject));
    expect(found).toEqual(expected.toSorted(byName));
  }
});

test('a dry run of storage rewrite can read all values, and counts those in another format', async () => {
  for (const value of values) await put(value);
  const { code, lines } = await runStorage(etcd, configuration, 'rewrite', '--dry-run');
  // The remaining objects are this server's default roles.
  expect(lines.at(-1)).toMatch(/^\d+ seen, 48 would be rewritten, 0 unreadable/);
  expect(code).toBe(0);
});

describe.each(values)('$key', (value) => {
  const { key, object } = value;

  test('is decoded to the right object', async () => {
    const { status, body } = await server.request('GET', pathOf(key));
    expect(status).toBe(200);
    expect(withoutVersion(body)).toEqual(object);
  });

  test('is rewritten once by an update without changes, and watchers receive the same object', async () => {
    await put(value);
    const from = (await server.request('GET', pathOf(key))).body.metadata.resourceVersion;
    const [collection, name] = [path.dirname(pathOf(key)), path.basename(key)];
    const watch = await server.open(
      'GET',
      `${collection}?watch=true&resourceVersion=${from}&fieldSelector=metadata.name%3D${name}`,
    );
    const lines = readline.createInterface({ input: watch })[Symbol.asyncIterator]();
    const patched = await updateWithoutChange(key);
    expect(patched.status).toBe(200);
    expect(withoutVersion(patched.body)).toEqual(object);
    const event = JSON.parse((await lines.next()).value as string) as { type: string; object: KubeObject };
    watch.destroy();
    expect([event.type, event.object]).toEqual(['MODIFIED', patched.body]);
    const rewritten = await stored(key);
    expect(prefixOf(rewritten)).toBe('k8s:enc:aesgcm:v1:key1:');
    expect((await updateWithoutChange(key)).body.metadata.resourceVersion).toBe(patched.body.metadata.resourceVersion);
    expect(await stored(key)).toEqual(rewritten);
  });

  test('is delivered to a watcher as one event when it is written while the server runs', async () => {
    const from = (await server.request('GET', pathOf(key))).body.metadata.resourceVersion;
    const watch = await server.open(
      'GET',
      `${path.dirname(pathOf(key))}?watch=true&resourceVersion=${from}&fieldSelector=metadata.name%3D${path.basename(key)}`,
    );
    const lines = readline.createInterface({ input: watch })[Symbol.asyncIterator]();
    await put(value);
    const event = JSON.parse((await lines.next()).value as string) as { object: KubeObject };
    watch.destroy();
    expect(withoutVersion(event.object)).toEqual(object);
  });
});

test('storage rewrite converts all values, and does not touch resources that the server does not have', async () => {
  for (const value of values) await put(value);
  const strange = '/registry/pods/team/web-0';
  await putRaw(url(), strange, Buffer.from('k8s\0 of another server'));
  const { lines } = await runStorage(etcd, configuration, 'rewrite', '--objects-per-second=1000');
  expect(lines.at(-1)).toMatch(/^\d+ seen, 48 rewritten, 0 unreadable/);
  expect((await stored(strange)).toString()).toBe('k8s\0 of another server');
  const inspected = (await runStorage(etcd, configuration, 'inspect')).lines.slice(1);
  // Excludes the default roles, the objects of flow control, and the server's Lease with its namespace.
  expect(inspected.filter((line) => !/^(clusterrole|flowschemas|leases|namespaces|prioritylevel)/.test(line))).toEqual([
    'events\tk8s:enc:aesgcm:v1:key1:\t32',
    'pods\tin clear\t1',
    'serviceaccounts\tk8s:enc:aesgcm:v1:key1:\t16',
  ]);
  for (const { key, object } of values)
    expect(withoutVersion((await server.request('GET', pathOf(key))).body)).toEqual(object);
});

test('an object of another or an unknown kind is not read as this kind', async () => {
  const key = '/registry/serviceaccounts/team/stranger';
  const event = values.find(
    ({ key: one }) => one === '/registry/events/team/identity-protobuf',
  ) as (typeof values)[number];
  for (const bytes of [
    Buffer.from(event.stored, 'base64'),
    Buffer.from('k8s\0'),
    Buffer.from('k8s\0\n\x14\n\x02v1\x12\x0eServiceAccount\x12\x02\xff\xff', 'latin1'),
    Buffer.from('{"kind":"Event","apiVersion":"v1","metadata":{"name":"stranger","namespace":"team","uid":"u"}}\n'),
  ]) {
    await putRaw(url(), key, bytes);
    const found = await until('the change', async () => {
      const answer = await server.request('GET', pathOf(key));
      return answer.status === 404 ? undefined : answer;
    });
    expect([found.status, found.body]).toEqual([
      500,
      expect.objectContaining({ message: expect.stringContaining(key) }),
    ]);
  }
  etcd.control('del', key);
});
