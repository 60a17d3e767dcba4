/** Secrets of the type kubernetes.io/service-account-token with two replicas: filled, used, revoked, removed. */
import { generateKeyPairSync } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { serveAudited } from '../audit/audited-server.ts';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

const accountKey = 'kubernetes.io/service-account.name';
const uidKey = 'kubernetes.io/service-account.uid';
const lastUsed = 'kubernetes.io/legacy-token-last-used';
const invalidSince = 'kubernetes.io/legacy-token-invalid-since';
const type = 'kubernetes.io/service-account-token';
const merge = 'application/merge-patch+json';
const within = (namespace: string, path: string): string => `/api/v1/namespaces/${namespace}/${path}`;
const today = (): string => new Date().toISOString().slice(0, 10);

const signing = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

let etcd: RealEtcd;
let first: TestServer;
let second: TestServer;
const serve = (controllers: string, more: readonly string[] = []): Promise<TestServer> =>
  serveKinds(kinds, {
    etcd,
    files: { signing },
    flags: [
      '--service-account-issuer=https://cluster.example',
      '--service-account-signing-key-file=signing',
      `--controllers=${controllers}`,
      ...more,
    ],
  });
beforeAll(async () => {
  etcd = await startEtcd();
  first = await serve('serviceaccount-token-controller,legacy-token-tracking-controller');
  second = await serve('serviceaccount-token-controller,legacy-token-tracking-controller');
});
afterAll(async () => {
  await second.close();
  await first.close();
  await etcd.stop();
});

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };
const decode = (base64 = ''): string => Buffer.from(base64, 'base64').toString();
const get = async (path: string, server = first) => {
  const { status, body } = await server.request('GET', path);
  return status === 200 ? (body as Secret) : undefined;
};
const createAccount = async (namespace: string, name: string): Promise<string> =>
  (await first.request('POST', within(namespace, 'serviceaccounts'), { metadata: { name } })).body.metadata
    .uid as string;
const createSecret = (namespace: string, name: string, account: string, more: object = {}) =>
  first.request('POST', within(namespace, 'secrets'), {
    metadata: { name, annotations: { [accountKey]: account } },
    type,
    ...more,
  });
const untilFilled = (namespace: string, name: string, server = first): Promise<Secret> =>
  until(`the token in ${namespace}/${name}`, async () => {
    const secret = await get(within(namespace, `secrets/${name}`), server);
    return secret?.data?.['token'] ? secret : undefined;
  });
const untilGone = (path: string): Promise<true> =>
  until(`the end of ${path}`, async () => (await get(path)) === undefined || undefined);
const patch = (path: string, change: object) => first.request('PATCH', path, change, merge);

/** A Secret with its token. */
async function issue(namespace: string, name = 't', account = 'a'): Promise<string> {
  await createAccount(namespace, account);
  await createSecret(namespace, name, account);
  return decode((await untilFilled(namespace, name)).data?.['token']);
}

const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
async function use(token: string, server: TestServer) {
  const answer = await openHttps(`${server.url}${whoami}`, { method: 'POST', ca: server.certificate, token, body: {} });
  const body = JSON.parse(await text(answer)) as { status: { userInfo?: object } };
  return { status: answer.statusCode, warnings: answer.headersDistinct['warning'] ?? [], user: body.status.userInfo };
}
const untilStatus = (expected: number, token: string, server: TestServer): Promise<true> =>
  until(`${expected} for the token`, async () => (await use(token, server)).status === expected || undefined);

describe('a token secret', () => {
  test('is filled with a token of its account', async () => {
    const uid = await createAccount('filled', 'a');
    await createSecret('filled', 't', 'a', { data: { own: 'eA==' } });
    const { data, metadata } = await untilFilled('filled', 't');
    expect(metadata.annotations).toEqual({ [accountKey]: 'a', [uidKey]: uid });
    const { token, ...others } = data ?? {};
    expect(Object.fromEntries(Object.entries(others).map(([key, value]) => [key, decode(value)]))).toEqual({
      'ca.crt': `${String(first.certificate).trim()}\n`,
      namespace: 'filled',
      own: 'x',
    });
    expect(decodeProtectedHeader(decode(token))).toEqual({ alg: 'RS256', kid: expect.any(String) });
    expect(decodeJwt(decode(token))).toEqual({
      iss: 'kubernetes/serviceaccount',
      'kubernetes.io/serviceaccount/namespace': 'filled',
      'kubernetes.io/serviceaccount/secret.name': 't',
      'kubernetes.io/serviceaccount/service-account.name': 'a',
      'kubernetes.io/serviceaccount/service-account.uid': uid,
      sub: 'system:serviceaccount:filled:a',
    });
  });

  test.each(['token', 'namespace', 'ca.crt'])('that was emptied gets its %s again', async (key) => {
    const namespace = `emptied-${key.replace('.', '-')}`;
    const token = await issue(namespace);
    const path = within(namespace, 'secrets/t');
    const before = (await get(path))?.data?.[key];
    for (const data of [{ [key]: null }, { [key]: '' }]) {
      expect((await patch(path, { data })).status).toBe(200);
      await until(`the ${key}`, async () => (await get(path))?.data?.[key] === before || undefined);
    }
    // The same token: nothing in it depends on the time.
    expect(await use(token, second)).toMatchObject({ status: 201 });
  });

  test('keeps another token and another namespace, and never an immutable one', async () => {
    await issue('kept');
    const other = Buffer.from('other').toString('base64');
    await patch(within('kept', 'secrets/t'), { data: { token: other, namespace: other } });
    await createSecret('kept', 'frozen', 'a', { immutable: true });
    await createSecret('kept', 'later', 'a');
    await untilFilled('kept', 'later');
    expect((await get(within('kept', 'secrets/t')))?.data).toMatchObject({ token: other, namespace: other });
    expect((await get(within('kept', 'secrets/frozen')))?.data).toBeUndefined();
  });

  test.each<[string, object]>([
    ['without its account', { [accountKey]: 'none' }],
    ['of another account of the name', { [accountKey]: 'a', [uidKey]: 'another' }],
    ['with a name that no account can have', { [accountKey]: '../a/b' }],
  ])('%s is deleted', async (what, annotations) => {
    const namespace = what.replaceAll(' ', '-');
    await createAccount(namespace, 'a');
    await first.request('POST', within(namespace, 'secrets'), { metadata: { name: 't', annotations }, type });
    await untilGone(within(namespace, 'secrets/t'));
  });

  test('goes with its account, and so does its token', async () => {
    const token = await issue('gone');
    await createSecret('gone', 'second', 'a');
    await untilFilled('gone', 'second');
    for (const server of [first, second]) expect(await use(token, server)).toMatchObject({ status: 201 });
    await first.request('DELETE', within('gone', 'serviceaccounts/a'));
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await untilStatus(401, token, second);
    for (const name of ['t', 'second']) await untilGone(within('gone', `secrets/${name}`));
    await createAccount('gone', 'a');
    for (const server of [first, second]) expect(await use(token, server)).toMatchObject({ status: 401 });
  });

  test('is never left filled when its account is deleted meanwhile', async () => {
    for (let round = 0; round < 30; round++) {
      await createAccount('race', `a-${round}`);
      const created = createSecret('race', `t-${round}`, `a-${round}`);
      if (round % 2 === 0) await created;
      await first.request('DELETE', within('race', `serviceaccounts/a-${round}`));
      await created;
    }
    await until('the end of all secrets', async () => {
      const { body } = await first.request('GET', within('race', 'secrets'));
      return body.items?.length === 0 || undefined;
    });
  });

  test('is taken out of the list of its account when it goes', async () => {
    await issue('listed');
    const account = within('listed', 'serviceaccounts/a');
    await patch(account, { secrets: [{ name: 't' }, { name: 'other' }] });
    await first.request('DELETE', within('listed', 'secrets/t'));
    await until('the list', async () => {
      const secrets = (await get(account))?.['secrets'] as readonly object[] | undefined;
      return secrets?.length === 1 || undefined;
    });
    expect((await get(account))?.['secrets']).toEqual([{ name: 'other' }]);
  });
});

describe('its token', () => {
  test('makes its bearer the account, without a credential ID', async () => {
    const token = await issue('user');
    expect(await use(token, second)).toEqual({
      status: 201,
      warnings: [],
      user: {
        username: 'system:serviceaccount:user:a',
        uid: expect.any(String),
        groups: ['system:serviceaccounts', 'system:serviceaccounts:user', 'system:authenticated'],
      },
    });
    const review = (audiences?: readonly string[]) =>
      first.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } });
    expect((await review()).body).toMatchObject({
      status: { authenticated: true, audiences: ['https://cluster.example'] },
    });
    expect((await review(['other'])).body).toMatchObject({ status: { error: 'invalid bearer token' } });
  });

  test('is refused as soon as its secret is gone, and works again with the secret', async () => {
    const token = await issue('revoked');
    for (const server of [first, second]) expect(await use(token, server)).toMatchObject({ status: 201 });
    await first.request('DELETE', within('revoked', 'secrets/t'));
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await untilStatus(401, token, second);
    await createSecret('revoked', 't', 'a');
    await untilFilled('revoked', 't');
    // At once, also on the replica that has just refused it.
    expect(await use(token, second)).toMatchObject({ status: 201 });
  });

  test('is refused while the secret is being deleted, and when the secret contains another one', async () => {
    const token = await issue('replaced');
    const path = within('replaced', 'secrets/t');
    await patch(path, { data: { token: Buffer.from('other').toString('base64') } });
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await untilStatus(401, token, second);
    await patch(path, { data: { token: null }, metadata: { finalizers: ['example.com/held'] } });
    await untilFilled('replaced', 't');
    expect(await use(token, second)).toMatchObject({ status: 201 });
    await first.request('DELETE', path);
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await patch(path, { metadata: { finalizers: null } });
  });

  test('is refused while it is marked invalid, and its use is noted', async () => {
    const token = await issue('marked');
    const path = within('marked', 'secrets/t');
    await patch(path, { metadata: { labels: { [invalidSince]: '2026-01-01' } } });
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await until('the label', async () => (await get(path))?.metadata.labels?.[lastUsed] === today() || undefined);
    await patch(path, { metadata: { labels: { [invalidSince]: null } } });
    expect(await use(token, second)).toMatchObject({ status: 201 });
  });

  test('leaves the date of its use, once a day', async () => {
    const token = await issue('used');
    const path = within('used', 'secrets/t');
    expect((await get(path))?.metadata.labels).toBeUndefined();
    await Promise.all([first, second, first, second].map((server) => use(token, server)));
    const { resourceVersion, managedFields } = (
      await until('the label', async () => {
        const secret = await get(path);
        return secret?.metadata.labels?.[lastUsed] === today() ? secret : undefined;
      })
    ).metadata;
    expect(managedFields?.map(({ manager }) => manager)).toContain('kube-apiserver');
    for (const server of [first, second]) await use(token, server);
    expect((await get(path))?.metadata.resourceVersion).toBe(resourceVersion);
    await patch(path, { metadata: { labels: { [lastUsed]: '2020-01-01' } } });
    await use(token, first);
    await until(
      'the label of today',
      async () => (await get(path))?.metadata.labels?.[lastUsed] === today() || undefined,
    );
  });

  test('comes with a warning if its account lists the secret', async () => {
    const token = await issue('warned');
    await patch(within('warned', 'serviceaccounts/a'), { secrets: [{ name: 't' }] });
    expect((await use(token, first)).warnings).toEqual([
      '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens."',
    ]);
  });
});

test('since when uses are noted is in a ConfigMap', async () => {
  const path = within('kube-system', 'configmaps/kube-apiserver-legacy-service-account-token-tracking');
  const untilTracked = (): Promise<true> =>
    until('the ConfigMap', async () => (await get(path))?.data?.['since'] === today() || undefined);
  await untilTracked();
  for (const since of ['yesterday', '2026-13-01', null]) {
    expect((await patch(path, { data: { since } })).status).toBe(200);
    await untilTracked();
  }
  await patch(path, { data: { since: '2020-02-02' } });
  await createSecret('tracked', 'none', 'none');
  await untilGone(within('tracked', 'secrets/none'));
  expect((await get(path))?.data).toEqual({ since: '2020-02-02' });
  await first.request('DELETE', path);
  await untilTracked();
});

test('its uses are audited without the token', async () => {
  const audited = await serveAudited({
    etcd,
    policy: { kind: 'Policy', apiVersion: 'audit.k8s.io/v1', rules: [{ level: 'RequestResponse' }] },
  });
  const { server } = audited;
  const secrets = within('audited', 'secrets');
  const annotationsOf = async (marked: string, count: number): Promise<readonly object[]> =>
    (await audited.waitForEvents(marked, count)).map((event) =>
      Object.fromEntries(Object.entries(event.annotations ?? {}).filter(([key]) => key.includes('legacy-token'))),
    );
  const annotation = 'authentication.k8s.io/legacy-token';
  await server.request('POST', within('audited', 'serviceaccounts'), { metadata: { name: 'a' } });
  await server.request('POST', secrets, { metadata: { name: 't', annotations: { [accountKey]: 'a' } }, type });
  const token = decode((await untilFilled('audited', 't', server)).data?.['token']);
  await use(token, server);
  await server.request('PATCH', `${secrets}/t`, { metadata: { labels: { [invalidSince]: '2026-01-01' } } }, merge);
  await use(token, server);
  const subject = { [annotation]: 'system:serviceaccount:audited:a' };
  const twoStages = (await annotationsOf('selfsubjectreviews', 3)).filter((found) => Object.keys(found).length > 0);
  expect(twoStages).toContainEqual({ ...subject, [`${annotation}-manual-secret`]: 't' });
  expect(twoStages).toContainEqual({ ...subject, [`${annotation}-invalidated`]: 't/audited' });
  const written = JSON.stringify(audited.events()) + server.logLines.join('\n');
  for (const secret of [token, Buffer.from(token).toString('base64')]) expect(written).not.toContain(secret);
  await audited.close();
});

test('without the controller secrets stay as they are, until another leader runs it', async () => {
  const serveAlone = (controllers: string): Promise<TestServer> => serve(controllers, ['--etcd-prefix=/alone']);
  const create = (server: TestServer, path: string, object: object) => server.request('POST', path, object);
  const without = await serveAlone('namespace-controller');
  await create(without, within('left', 'serviceaccounts'), { metadata: { name: 'a' } });
  for (const name of ['a', 'none'])
    await create(without, within('left', 'secrets'), { metadata: { name, annotations: { [accountKey]: name } }, type });
  // The leader runs controllers: it deletes a namespace.
  await create(without, '/api/v1/namespaces', { metadata: { name: 'other' } });
  await without.request('DELETE', '/api/v1/namespaces/other');
  await until('the end of the namespace', async () => {
    const { status } = await without.request('GET', '/api/v1/namespaces/other');
    return status === 404 || undefined;
  });
  for (const name of ['a', 'none']) {
    const secret = await get(within('left', `secrets/${name}`), without);
    expect([secret?.metadata.name, secret?.data]).toEqual([name, undefined]);
  }
  await without.close();
  const next = await serveAlone('serviceaccount-token-controller');
  await untilFilled('left', 'a', next);
  await until('the end of the other', async () => {
    const { status } = await next.request('GET', within('left', 'secrets/none'));
    return status === 404 || undefined;
  });
  await next.close();
});
