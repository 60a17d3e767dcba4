/** Flags of authentication and authorization that other tests leave at their defaults. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { audience, startIssuer } from '../authentication/issuer.ts';
import { respondWith, startWebhook } from '../authorization/real-webhook.ts';
import { openClient, userOf } from '../identities/identity-client.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';

let etcd: RealEtcd;
let server: TestServer;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterEach(() => server.close());
afterAll(() => etcd.stop());

test('--requestheader-* flags name the headers of a front proxy', async () => {
  const proxies = await testAuthority('proxies');
  server = await serveKinds(kinds, {
    etcd,
    flags: [
      '--requestheader-client-ca-file=proxies.crt',
      '--requestheader-username-headers=X-User',
      '--requestheader-uid-headers=X-Uid',
      '--requestheader-group-headers=X-Group',
      '--requestheader-extra-headers-prefix=X-More-',
    ],
    files: { 'proxies.crt': proxies.certificate },
  });
  const client = openClient(server, 'HTTP/2', await proxies.issue({ subject: [['CN', 'front']] }));
  const answer = await client.send({ 'x-user': 'ann', 'x-uid': 'u7', 'x-group': 'devs', 'x-more-team': 'blue' });
  expect(userOf(answer)).toEqual({
    username: 'ann',
    uid: 'u7',
    groups: ['devs', 'system:authenticated'],
    extra: { team: ['blue'] },
  });
  expect((await client.send({ 'x-remote-user': 'ann' })).status).toBe(401);
  client.close();
});

test('--oidc-username-claim and --oidc-username-prefix make the name of a user', async () => {
  const issuer = await startIssuer();
  server = await serveKinds(kinds, {
    etcd,
    files: { 'ca.crt': issuer.certificateAuthority },
    flags: [
      `--oidc-issuer-url=${issuer.url}`,
      `--oidc-client-id=${audience}`,
      '--oidc-ca-file=ca.crt',
      '--oidc-signing-algs=ES256',
      '--oidc-username-claim=nickname',
      '--oidc-username-prefix=people:',
    ],
  });
  const client = openClient(server, 'HTTP/1.1');
  const token = await issuer.sign({ nickname: 'ann' });
  expect(userOf(await client.send({ authorization: `Bearer ${token}` }))).toMatchObject({ username: 'people:ann' });
  client.close();
  await issuer.close();
});

test('--service-account-jwks-uri stands in the discovery document of the issuer', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = 'https://keys.example.com/cluster';
  server = await serveKinds(kinds, {
    etcd,
    files: { signing: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
    flags: [
      '--service-account-issuer=https://issuer.example.com',
      '--service-account-signing-key-file=signing',
      `--service-account-jwks-uri=${keys}`,
    ],
  });
  expect((await server.request('GET', '/.well-known/openid-configuration')).body).toMatchObject({ jwks_uri: keys });
});

test('--authorization-webhook-version and --authorization-webhook-cache-unauthorized-ttl reach the webhook', async () => {
  const webhook = await startWebhook();
  webhook.answer = respondWith({ allowed: false, denied: true });
  const clients = await testAuthority('clients');
  server = await serveKinds(kinds, {
    etcd,
    flags: [
      '--client-ca-file=clients.crt',
      '--authorization-mode=RBAC,Webhook',
      '--authorization-webhook-config-file=webhook',
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-unauthorized-ttl=0s',
    ],
    files: { 'clients.crt': clients.certificate, webhook: webhook.connection() },
  });
  const client = openClient(server, 'HTTP/2', await clients.issue({ subject: [['CN', 'ann']] }));
  for (let times = 0; times < 2; times++) expect((await client.send({}, accounts)).status).toBe(403);
  expect(webhook.calls.map(({ apiVersion }) => apiVersion)).toEqual(Array(2).fill('authorization.k8s.io/v1'));
  client.close();
  await webhook.stop();
});

test('--controllers names those that a leader starts', async () => {
  const { logLines } = (server = await serveKinds(kinds, {
    etcd,
    flags: ['--controllers=*,-garbage-collector', '-v=2'],
  }));
  const line = await until('leadership', () => logLines.find((one) => one.includes('acquired leadership')));
  expect(line).toMatch(/starting controllers.*controllers="?namespace-controller,clusterrole-aggregation-controller/);
});
