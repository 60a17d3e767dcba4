/**
 * The data of Secrets leave the server in one way: as the object, to clients that may read it. Here its value is looked for
 * in everything else that the server writes.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { text } from 'node:stream/consumers';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { canary, leaksIn } from '@cluster-apiserver/testkit/leaks';
import { type OtlpReceiver, startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { until } from '@cluster-apiserver/testkit/until';
import { sendRequest } from '../authentication/send-request.ts';
import { runStorage } from '../encryption/run-storage.ts';
import { million } from '../tracing/traced-server.ts';
import { type TestServer } from '../serve-kinds.ts';
import { type AuditedServer, policyOf, serveAudited } from './audited-server.ts';

const encoded = Buffer.from(canary).toString('base64');
const secrets = '/api/v1/namespaces/team/secrets';
const merge = 'application/merge-patch+json';

let etcd: Awaited<ReturnType<typeof startEtcd>>;
let receiver: OtlpReceiver;
let audited: AuditedServer;
let server: TestServer;
/** What the server answered to requests that do not read the Secret. */
const answers: string[] = [];

beforeAll(async () => {
  [etcd, receiver] = [await startEtcd({ encrypted: true }), await startReceiver()];
  const tracing = {
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'TracingConfiguration',
    endpoint: receiver.address,
    samplingRatePerMillion: million,
  };
  audited = await serveAudited({
    etcd,
    policy: policyOf({ level: 'RequestResponse' }),
    flags: [
      '-v=10',
      '--tracing-config-file=tracing.json',
      '--encryption-provider-config=secrets.json',
      '--etcd-prefix=/registry',
    ],
    files: { 'tracing.json': JSON.stringify(tracing), 'secrets.json': secretsEncryption() },
  });
  server = audited.server;
  await writeSecrets();
});
afterAll(async () => {
  await audited.close();
  await receiver.stop();
  // The store is searched for the value, too.
  await etcd.stop();
});

const secretsEncryption = (): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['*.*'],
        providers: [{ aesgcm: { keys: [{ name: 'a', secret: Buffer.alloc(32, 1).toString('base64') }] } }],
      },
    ],
  });

/** All ways in which a value is written, read or refused. */
async function writeSecrets(): Promise<void> {
  const secret = (name: string, more: object = {}): object => ({
    metadata: { name },
    data: { password: encoded },
    ...more,
  });
  const written = [
    await server.request('POST', secrets, secret('one')),
    await server.request('POST', secrets, { metadata: { name: 'two' }, stringData: { password: canary } }),
    await server.request('PATCH', `${secrets}/one`, { data: { other: encoded } }, merge),
    await server.request('PUT', `${secrets}/two`, secret('two')),
    await server.request('GET', secrets),
    await server.request('GET', `${secrets}/one`),
    await server.request('DELETE', `${secrets}/two`),
  ];
  expect(written.map(({ status }) => status)).toEqual([201, 201, 200, 200, 200, 200, 200]);
  const applied = { apiVersion: 'v1', kind: 'Secret', ...secret('one') };
  const refused = [
    // Conflicts, wrong types, missing keys, unknown fields and values that are too large.
    await server.request(
      'PATCH',
      `${secrets}/one?fieldManager=m`,
      { ...applied, data: { password: 'eA==' } },
      'application/apply-patch+yaml',
    ),
    await server.request('POST', secrets, secret('one')),
    await server.request('POST', secrets, { metadata: { name: 'three' }, data: { password: canary } }),
    await server.request('POST', secrets, { metadata: { name: 'three' }, data: [canary] }),
    await server.request('POST', secrets, { metadata: { name: 'three' }, data: { a: { b: canary } } }),
    await server.request('POST', secrets, secret('three', { type: 'kubernetes.io/tls' })),
    await server.request(
      'POST',
      secrets,
      secret('three', { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': encoded } }),
    ),
    await server.request('POST', `${secrets}?fieldValidation=Strict`, secret('three', { unknown: canary })),
    await server.request('POST', secrets, secret('Three')),
    await server.request('PATCH', `${secrets}/one`, `{"data":{"password":"${canary}"`, merge),
    await server.request(
      'PATCH',
      `${secrets}/one`,
      [{ op: 'test', path: '/data/password', value: 'eA==' }],
      'application/json-patch+json',
    ),
    await server.request('POST', `${secrets}?dryRun=none`, secret('three')),
  ];
  for (const { status, body } of refused) {
    expect(status).toBeGreaterThanOrEqual(400);
    answers.push(JSON.stringify(body));
  }
  const anonymous = await sendRequest(server, undefined, { path: `${secrets}/one` });
  answers.push(JSON.stringify(anonymous));
  const metadataOnly = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io;includeObject=None' };
  for (const headers of [metadataOnly, table])
    answers.push(JSON.stringify(await sendRequest(server, server.token, { path: secrets, headers })));
  for (const path of [
    '/metrics',
    '/metrics/slis',
    '/openapi/v2',
    '/openapi/v3/api/v1',
    '/configz',
    '/flagz',
    '/statusz',
    '/docs',
  ])
    answers.push(await text(await server.open('GET', path)));
}

test('no other answer, and no document, holds the value', () => {
  expect(answers.filter((answer) => leaksIn(Buffer.from(answer)).length > 0)).toEqual([]);
});

test('no audit event holds it, at the level of requests and responses', async () => {
  await audited.waitForEvents(secrets, 20);
  expect(leaksIn(fs.readFileSync(audited.logFile))).toEqual([]);
});

test('no line of the log holds it, at any verbosity', () => {
  expect(server.logLines.length).toBeGreaterThan(20);
  expect(leaksIn(Buffer.from(server.logLines.join('\n')))).toEqual([]);
});

test('no span holds it', async () => {
  await until('the spans', () => receiver.spans.length > 20 || undefined);
  const written = JSON.stringify(receiver.spans, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  expect(leaksIn(Buffer.from(written))).toEqual([]);
});

test('the storage command does not show it', async () => {
  const { lines } = await runStorage(etcd, secretsEncryption(), 'inspect');
  expect(lines.join('\n')).toContain('secrets');
  expect(leaksIn(Buffer.from(lines.join('\n')))).toEqual([]);
});

test('the role view does not grant it', async () => {
  const { body } = await server.request('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/view');
  const rules = (body as unknown as { readonly rules: readonly { readonly resources?: readonly string[] }[] }).rules;
  expect(rules.length).toBeGreaterThan(3);
  expect(rules.filter(({ resources = [] }) => resources.includes('secrets') || resources.includes('*'))).toEqual([]);
});
