/** Authorizers of the assembled server, configured by file and by flags, and their reloads. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { sendRequest } from '../authentication/send-request.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { requestAs, configuration, metric, reconfigure, rewriteFile, serve } from './configuration.ts';

let etcd: RealEtcd;
let server: TestServer;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
afterEach(() => server.close());

const alwaysAllow = { type: 'AlwaysAllow', name: 'open' };
const alwaysDeny = { type: 'AlwaysDeny', name: 'closed' };
const rbac = { type: 'RBAC', name: 'rbac' };
const abac = { type: 'ABAC', name: 'policies' };

const policy = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });

describe('a request of a user without permissions', () => {
  test.each<[string, object[], number]>([
    ['is allowed by AlwaysAllow', [alwaysAllow], 200],
    ['is denied by RBAC', [rbac], 403],
    ['is allowed by the second authorizer if the first has no opinion', [rbac, alwaysAllow], 200],
    ['is denied by AlwaysDeny alone', [alwaysDeny], 403],
    ['is allowed by the authorizer after AlwaysDeny', [alwaysDeny, alwaysAllow], 200],
  ])('%s', async (_, authorizers, status) => {
    server = await serve(configuration(...authorizers), { etcd });
    expect((await requestAs(server, 'ann')).status).toBe(status);
  });
});

test('the response has the reasons of all authorizers without an opinion', async () => {
  server = await serve(configuration(alwaysDeny, abac), {
    etcd,
    flags: ['--authorization-policy-file=policies'],
    files: { policies: '# no policies' },
  });
  expect((await requestAs(server, 'ann')).message).toMatch(/: Everything is forbidden\., No policy matched\.$/);
});

describe('in every configuration', () => {
  test('system:masters is allowed everything, and probes need no permission', async () => {
    server = await serve(configuration(alwaysDeny), { etcd });
    expect((await requestAs(server, 'ann', undefined, 'system:masters')).status).toBe(200);
    expect((await sendRequest(server, undefined, { path: '/livez' })).status).toBe(200);
  });

  test('AlwaysAllow does not allow anonymous requests', async () => {
    server = await serve(configuration(alwaysAllow), { etcd, flags: ['--anonymous-auth'] });
    expect((await sendRequest(server, undefined)).status).toBe(403);
    expect((await requestAs(server, 'ann')).status).toBe(200);
  });
});

describe('by flags', () => {
  test.each<[string, string[], number]>([
    ['RBAC by default', [], 403],
    ['RBAC', ['--authorization-mode=RBAC'], 403],
    ['AlwaysAllow', ['--authorization-mode=AlwaysAllow'], 200],
    ['two modes', ['--authorization-mode=RBAC,AlwaysAllow'], 200],
    ['the alternative flag name', ['--authorization-modes=RBAC', '--authorization-modes=AlwaysAllow'], 200],
  ])('%s', async (_, flags, status) => {
    server = await serveKinds(kinds, { etcd, flags });
    expect((await requestAs(server, 'ann')).status).toBe(status);
  });
});

test('a changed file is applied, and an invalid one keeps the previous configuration', async () => {
  server = await serve(configuration(rbac), { etcd, errorsExpected: true });
  expect((await requestAs(server, 'ann')).status).toBe(403);
  await reconfigure(server, configuration(rbac, alwaysAllow));
  expect((await requestAs(server, 'ann')).status).toBe(200);
  await reconfigure(server, configuration({ type: 'Node', name: 'node' }));
  expect((await requestAs(server, 'ann')).status).toBe(200);
  await reconfigure(server, configuration(alwaysDeny));
  expect((await requestAs(server, 'ann')).status).toBe(403);
  const reloads = 'apiserver_authorization_config_controller_automatic_reloads_total';
  expect(await metric(server, reloads, { status: 'success' })).toBe(2);
  expect(await metric(server, reloads, { status: 'failure' })).toBe(1);
  const last = 'apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds';
  expect(await metric(server, last, { status: 'failure' })).toBeGreaterThan(0);
  expect(await metric(server, 'apiserver_authorization_config_controller_last_config_info')).toBe(1);
});

test('a reload can add RBAC, which then allows what a role allows', async () => {
  server = await serve(configuration(alwaysDeny), { etcd });
  const binding = {
    metadata: { name: 'devs-view' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' }],
  };
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  expect((await server.request('POST', path, binding)).status).toBe(201);
  try {
    expect((await requestAs(server, 'ann')).status).toBe(403);
    await reconfigure(server, configuration(alwaysDeny, rbac));
    expect((await requestAs(server, 'ann')).status).toBe(200);
    expect((await requestAs(server, 'ann', undefined, 'ops')).status).toBe(403);
  } finally {
    await server.request('DELETE', `${path}/devs-view`);
  }
});

test('decisions are counted by authorizer', async () => {
  server = await serve(configuration(rbac, { ...alwaysAllow, name: 'everybody.example.com' }), { etcd });
  await requestAs(server, 'ann');
  await requestAs(server, 'bob');
  const labels = { type: 'AlwaysAllow', name: 'everybody.example.com', decision: 'allowed' };
  expect(await metric(server, 'apiserver_authorization_decisions_total', labels)).toBe(2);
  expect(await metric(server, 'apiserver_authorization_decisions_total', { type: 'RBAC' })).toBe(0);
});

describe('ABAC', () => {
  test('allows what its policy file allows, and reloads the file', async () => {
    const devs = policy({ group: 'devs', namespace: 'team', resource: 'serviceaccounts', readonly: true });
    server = await serveKinds(kinds, {
      etcd,
      errorsExpected: true,
      flags: ['--authorization-mode=ABAC', '--authorization-policy-file=policies'],
      files: { policies: `# who may read\n${devs}\n` },
    });
    expect((await requestAs(server, 'ann')).status).toBe(200);
    expect((await requestAs(server, 'ann', '/api/v1/namespaces/other/serviceaccounts')).status).toBe(403);
    await rewriteFile(server, 'policies', `${devs}\n{"kind":"Policy"}`, 'cannot reload the configuration');
    expect((await requestAs(server, 'ann')).status).toBe(200);
    await rewriteFile(
      server,
      'policies',
      policy({ user: 'bob', nonResourcePath: '/version' }),
      'configuration reloaded',
    );
    expect((await requestAs(server, 'ann')).status).toBe(403);
    expect((await requestAs(server, 'bob', '/version')).status).toBe(200);
  });
});
