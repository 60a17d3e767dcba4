/** Unreadable values: reported by key, never skipped silently, and deletable with permission and the unsafe option. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { putRaw, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import {
  accounts,
  configuration,
  createAccount,
  file,
  flags,
  provider,
  keyOf,
  readStoredValue,
} from './configuration.ts';

const unsafely = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const open = (...more: string[]): Promise<TestServer> =>
  serveKinds(kinds, {
    flags: [...flags, ...more],
    files: { [file]: configuration(provider('aesgcm', 'a'), provider('aescbc', 'a'), { identity: {} }) },
    errorsExpected: true,
  });

let server: TestServer;
const url = (): string => server.etcd.endpoints[0] as string;
const corrupt = (name: string, value: string | Buffer): Promise<void> => putRaw(url(), keyOf(name), Buffer.from(value));
const readStored = (name: string): Promise<Buffer | undefined> => rawValue(url(), keyOf(name));
const get = (name: string): Promise<JsonResponse> => server.request('GET', `${accounts}/${name}`);

/** Values that may replace an object in etcd, for whatever reason. */
const wrecks: readonly (readonly [string, (whole: Buffer) => Buffer | string])[] = [
  ['a flipped bit', (whole) => Buffer.concat([whole.subarray(0, -1), Buffer.from([(whole.at(-1) ?? 0) ^ 1])])],
  ['half of it', (whole) => whole.subarray(0, whole.length / 2)],
  ['only the prefix', () => 'k8s:enc:aesgcm:v1:a:'],
  ['a key that is gone', (whole) => whole.toString('latin1').replace(':a:', ':gone:')],
  ['a provider that is gone', () => 'k8s:enc:kms:v2:vault:xyz'],
  ['noise', () => Buffer.alloc(300, 0xe7)],
  ['no object', () => '[1, 2]'],
  ['an object without an identity', () => '{"metadata":{"name":"x"}}'],
  ['nothing', () => ''],
];

describe('with the feature gate', () => {
  beforeAll(async () => {
    server = await open('--feature-gates=AllowUnsafeMalformedObjectDeletion=true');
  });
  afterAll(() => server.close());

  test.each(wrecks)('%s is reported by its key, and deleted with the unsafe option', async (_, wreck) => {
    const name = 'wreck';
    await createAccount(server, name);
    const added = { metadata: { finalizers: ['example.com/held'] } };
    await server.request('PATCH', `${accounts}/${name}`, added, 'application/merge-patch+json');
    await createAccount(server, 'whole');
    await corrupt(name, wreck(await readStoredValue(server, name)));
    const requests: [string, string, string, object?, string?][] = [
      ['InternalError', 'GET', `${accounts}/${name}`],
      ['StorageReadError', 'GET', accounts],
      ['StorageReadError', 'GET', '/api/v1/serviceaccounts?labelSelector=a%3Db'],
      ['InternalError', 'PATCH', `${accounts}/${name}`, {}, 'application/merge-patch+json'],
      ['InternalError', 'DELETE', `${accounts}/${name}`],
      ['StorageReadError', 'DELETE', accounts],
    ];
    for (const [reason, ...request] of requests) {
      const answer = await server.request(...request);
      const error = expect.objectContaining({ reason, message: expect.stringContaining(keyOf(name)) });
      expect([request, answer.status, answer.body]).toEqual([request, 500, error]);
    }
    const taken = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    expect((await server.request('POST', accounts, taken)).status).toBe(409);
    expect((await get('whole')).status).toBe(200);

    const options = { [unsafely]: true, preconditions: { uid: 'of another one' } };
    const rehearsed = await server.request('DELETE', `${accounts}/${name}`, { ...options, dryRun: ['All'] });
    expect(rehearsed.status).toBe(200);
    expect(await readStored(name)).toBeDefined();
    const deleted = await server.request('DELETE', `${accounts}/${name}`, options);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name, kind: 'serviceaccounts' },
    });
    expect(await readStored(name)).toBeUndefined();
    expect((await get(name)).status).toBe(404);
    expect((await server.request('GET', accounts)).status).toBe(200);
  });

  test('the unsafe option deletes a readable object normally', async () => {
    const path = (name: string): string => `${accounts}/${name}?${unsafely}=true`;
    expect((await server.request('DELETE', path('nobody'))).status).toBe(404);
    await createAccount(server, 'held');
    const held = { metadata: { finalizers: ['example.com/held'] } };
    await server.request('PATCH', `${accounts}/held`, held, 'application/merge-patch+json');
    const stale = { preconditions: { uid: 'of another one' } };
    expect((await server.request('DELETE', path('held'), stale)).status).toBe(409);
    expect((await server.request('DELETE', path('held'))).status).toBe(200);
    expect((await get('held')).body.metadata.deletionTimestamp).toBeDefined();
  });

  test('a list reports up to a hundred unreadable objects', async () => {
    const names = Array.from({ length: 105 }, (_, n) => `wreck-${String(n).padStart(3, '0')}`);
    for (const name of names) await corrupt(name, 'k8s:enc:aesgcm:v1:a:');
    const { status, body } = await server.request('GET', accounts);
    expect(status).toBe(500);
    const message = String(body.message);
    expect(names.filter((name) => message.includes(keyOf(name)))).toEqual(names.slice(0, 100));
    expect(body['details']).toMatchObject({ causes: names.slice(0, 100).map((name) => ({ field: keyOf(name) })) });
    expect((await server.request('DELETE', `${accounts}?${unsafely}=true`)).status).toBe(200);
    expect((await server.request('GET', accounts)).status).toBe(200);
  });

  test('a watch ends with an error at the unreadable object, and a new one continues after it', async () => {
    await createAccount(server, 'seen');
    const from = (await server.request('GET', accounts)).body.metadata.resourceVersion;
    const watch = await server.open('GET', `${accounts}?watch=true&resourceVersion=${from}`);
    const lines = readline.createInterface({ input: watch })[Symbol.asyncIterator]();
    await createAccount(server, 'before');
    expect(JSON.parse((await lines.next()).value as string)).toMatchObject({ type: 'ADDED' });
    await corrupt('seen', 'k8s:enc:aesgcm:v1:a:');
    const { type, object } = JSON.parse((await lines.next()).value as string);
    expect([type, object.code, object.reason]).toEqual(['ERROR', 500, 'StorageReadError']);
    expect((await lines.next()).done).toBe(true);
    await server.request('DELETE', `${accounts}/seen?${unsafely}=true`);
    const after = (await server.request('GET', accounts)).body.metadata.resourceVersion;
    const next = await server.open('GET', `${accounts}?watch=true&resourceVersion=${after}`);
    const more = readline.createInterface({ input: next })[Symbol.asyncIterator]();
    await createAccount(server, 'after');
    expect(JSON.parse((await more.next()).value as string)).toMatchObject({ object: { metadata: { name: 'after' } } });
    next.destroy();
  });
});

describe('without the feature gate', () => {
  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server.close());

  test('the unsafe option has no effect', async () => {
    await corrupt('wreck', 'k8s:enc:aesgcm:v1:a:');
    await until('the change', async () => ((await get('wreck')).status === 500 ? true : undefined));
    for (const path of [`${accounts}/wreck`, accounts]) {
      const { status, warnings } = await server.request('DELETE', `${path}?${unsafely}=true`);
      expect([status, warnings]).toEqual([500, [expect.stringContaining('AllowUnsafeMalformedObjectDeletion')]]);
    }
    expect(await readStored('wreck')).toBeDefined();
  });
});
