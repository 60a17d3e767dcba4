/** The configured authorizers in the server as it is assembled: by file, by flags, and over reloads. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { ask } from '../authentication/caller.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';
import { askAs, configuration, metric, reconfigure, rewrite, serve } from './configuration.ts';

let etcd: RealEtcd;
let server: ServedKinds;
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

describe('a request of somebody without rights', () => {
  test.each<[string, object[], number]>([
    ['is allowed by AlwaysAllow', [alwaysAllow], 200],
    ['is refused by RBAC', [rbac], 403],
    ['is allowed by the second authorizer if the first has no opinion', [rbac, alwaysAllow], 200],
    ['is refused by AlwaysDeny alone', [alwaysDeny], 403],
    ['is allowed by what follows AlwaysDeny', [alwaysDeny, alwaysAllow], 200],
  ])('%s', async (_, authorizers, status) => {
    server = await serve(configuration(...authorizers), { etcd });
    expect((await askAs(server, 'ann')).status).toBe(status);
  });
});

test('the reasons of all authorizers without an opinion are told', async () => {
  server = await serve(configuration(alwaysDeny, abac), {
    etcd,
    flags: ['--authorization-policy-file=policies'],
    files: { policies: '' },
  });
  expect((await askAs(server, 'ann')).message).toMatch(/: Everything is forbidden\., No policy matched\.$/);
});

describe('whatever is configured', () => {
  test('system:masters may do everything, and probes need no rights', async () => {
    server = await serve(configuration(alwaysDeny), { etcd });
    expect((await askAs(server, 'ann', undefined, 'system:masters')).status).toBe(200);
    expect((await ask(server, undefined, { path: '/livez' })).status).toBe(200);
  });

  test('an anonymous request gets no rights from AlwaysAllow', async () => {
    server = await serve(configuration(alwaysAllow), { etcd, flags: ['--anonymous-auth'] });
    expect((await ask(server, undefined)).status).toBe(403);
    expect((await askAs(server, 'ann')).status).toBe(200);
  });
});

describe('by flags', () => {
  test.each<[string, string[], number]>([
    ['nothing is RBAC', [], 403],
    ['RBAC', ['--authorization-mode=RBAC'], 403],
    ['AlwaysAllow', ['--authorization-mode=AlwaysAllow'], 200],
    ['two modes', ['--authorization-mode=RBAC,AlwaysAllow'], 200],
    ['the other spelling', ['--authorization-modes=RBAC', '--authorization-modes=AlwaysAllow'], 200],
  ])('%s', async (_, flags, status) => {
    server = await serveKinds(kinds, { etcd, flags });
    expect((await askAs(server, 'ann')).status).toBe(status);
  });
});

test('a changed file is applied, and a faulty one leaves the old one in service', async () => {
  server = await serve(configuration(rbac), { etcd, errorsExpected: true });
  expect((await askAs(server, 'ann')).status).toBe(403);
  await reconfigure(server, configuration(rbac, alwaysAllow));
  expect((await askAs(server, 'ann')).status).toBe(200);
  await reconfigure(server, configuration({ type: 'Node', name: 'node' }));
  expect((await askAs(server, 'ann')).status).toBe(200);
  await reconfigure(server, configuration(alwaysDeny));
  expect((await askAs(server, 'ann')).status).toBe(403);
  const reloads = 'apiserver_authorization_config_controller_automatic_reloads_total';
  expect(await metric(server, reloads, { status: 'success' })).toBe(2);
  expect(await metric(server, reloads, { status: 'failure' })).toBe(1);
  const last = 'apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds';
  expect(await metric(server, last, { status: 'failure' })).toBeGreaterThan(0);
  expect(await metric(server, 'apiserver_authorization_config_controller_last_config_info')).toBe(1);
});

test('RBAC can be added by a reload, and allows what a role allows', async () => {
  server = await serve(configuration(alwaysDeny), { etcd });
  const binding = {
    metadata: { name: 'devs-view' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' }],
  };
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  expect((await server.ask('POST', path, binding)).status).toBe(201);
  try {
    expect((await askAs(server, 'ann')).status).toBe(403);
    await reconfigure(server, configuration(alwaysDeny, rbac));
    expect((await askAs(server, 'ann')).status).toBe(200);
    expect((await askAs(server, 'ann', undefined, 'ops')).status).toBe(403);
  } finally {
    await server.ask('DELETE', `${path}/devs-view`);
  }
});

test('decisions are counted by authorizer', async () => {
  server = await serve(configuration(rbac, { ...alwaysAllow, name: 'everybody.example.com' }), { etcd });
  await askAs(server, 'ann');
  await askAs(server, 'bob');
  const labels = { type: 'AlwaysAllow', name: 'everybody.example.com', decision: 'allowed' };
  expect(await metric(server, 'apiserver_authorization_decisions_total', labels)).toBe(2);
  expect(await metric(server, 'apiserver_authorization_decisions_total', { type: 'RBAC' })).toBe(0);
});

describe('ABAC', () => {
  test('allows what a policy of the file allows, and follows the file', async () => {
    const devs = policy({ group: 'devs', namespace: 'team', resource: 'serviceaccounts', readonly: true });
    server = await serveKinds(kinds, {
      etcd,
      errorsExpected: true,
      flags: ['--authorization-mode=ABAC', '--authorization-policy-file=policies'],
      files: { policies: `# who may read\n${devs}\n` },
    });
    expect((await askAs(server, 'ann')).status).toBe(200);
    expect((await askAs(server, 'ann', '/api/v1/namespaces/other/serviceaccounts')).status).toBe(403);
    await rewrite(server, 'policies', `${devs}\n{"kind":"Policy"}`, 'cannot reload the configuration');
    expect((await askAs(server, 'ann')).status).toBe(200);
    await rewrite(server, 'policies', policy({ user: 'bob', nonResourcePath: '/version' }), 'configuration reloaded');
    expect((await askAs(server, 'ann')).status).toBe(403);
    expect((await askAs(server, 'bob', '/version')).status).toBe(200);
  });
});
