/** The configuration selects resources by group, although etcd keys do not contain the group. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { file, flags, provider, prefixOf } from './configuration.ts';
import { runStorage } from './run-storage.ts';

const of = (providers: Readonly<Record<string, readonly string[]>>): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: Object.entries(providers).map(([key, resources]) => ({
      resources,
      providers: [provider('secretbox', key), { identity: {} }],
    })),
  });
const byGroup = of({
  one: ['roles.rbac.authorization.k8s.io'],
  group: ['*.rbac.authorization.k8s.io'],
  core: ['*.'],
});

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const roleRef = { kind: 'ClusterRole', name: 'r' };
/** Stored objects with the key that encrypts each. */
const stored = [
  [`${rbac}/namespaces/team/roles`, {}, '/registry/roles/team/x', 'one'],
  [`${rbac}/namespaces/team/rolebindings`, { roleRef }, '/registry/rolebindings/team/x', 'group'],
  [`${rbac}/clusterroles`, {}, '/registry/clusterroles/x', 'group'],
  [`${rbac}/clusterrolebindings`, { roleRef }, '/registry/clusterrolebindings/x', 'group'],
  ['/api/v1/namespaces/team/serviceaccounts', {}, '/registry/serviceaccounts/team/x', 'core'],
] as const;

let etcd: RealEtcd;
let server: TestServer;
beforeAll(async () => {
  etcd = await startEtcd({ encrypted: true });
  server = await serveKinds(kinds, { flags, files: { [file]: byGroup }, etcd });
  for (const [path, fields] of stored)
    expect((await server.request('POST', path, { metadata: { name: 'x' }, ...fields })).status).toBe(201);
});
afterAll(async () => {
  await server.close();
  await etcd.stop();
});

test.each(stored)('%s: an object with %j is stored under %s by the key %s', async (path, _, key, by) => {
  const value = (await rawValue(etcd.endpoints[0] as string, key)) ?? Buffer.of();
  expect(prefixOf(value)).toBe(`k8s:enc:secretbox:v1:${by}:`);
  expect((await server.request('GET', `${path}/x`)).body.metadata.name).toBe('x');
});

test('storage rewrite uses the same groups', async () => {
  const other = of({ one: ['roles.rbac.authorization.k8s.io'], core: ['*.'] });
  const { lines } = await runStorage(etcd, other, 'rewrite', '--dry-run');
  // The group's key is no longer configured for these objects, so they are unreadable.
  expect(lines).toEqual(
    expect.arrayContaining(stored.flatMap(([, , key, by]) => (by === 'group' ? [`cannot read ${key}`] : []))),
  );
  expect(lines).not.toContain('cannot read /registry/roles/team/x');
  expect((await runStorage(etcd, byGroup, 'rewrite', '--dry-run')).lines.at(-1)).toContain(
    '0 would be rewritten, 0 unreadable',
  );
});
