/** Rules of roles and bindings through the whole pipeline, besides those of all kinds. */
import { describe, expect, test } from '@jest/globals';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { patchTypes, type Served, useServer } from './use-server.ts';

const served = useServer();
const { merge, apply } = patchTypes;

const send: Served['send'] = (method, path, ...body) =>
  served.send(method, `/apis/rbac.authorization.k8s.io/v1${path}`, ...body);
const rule = { apiGroups: [''], resources: ['events'], verbs: ['get'] };
const ownersOf = ({ body }: JsonResponse): unknown[] =>
  (body.metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => [manager, ...Object.keys(fieldsV1)]);

describe('rules', () => {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' } };
  const one = '/namespaces/n/roles/r';
  const roles = '/namespaces/n/roles';

  test('that are absent have no owner until a client removes them', async () => {
    const labelled = { ...role, metadata: { ...role.metadata, labels: { a: 'b' } } };
    const created = await send('POST', `${roles}?fieldManager=a`, labelled);
    const labels = ['a', 'f:metadata'];
    expect([created.body['rules'], ownersOf(created)]).toEqual([null, [labels]]);
    const filled = await send('PATCH', `${one}?fieldManager=b`, { rules: [rule] }, merge);
    expect([filled.body['rules'], ownersOf(filled)]).toEqual([[rule], [labels, ['b', 'f:rules']]]);
    const emptied = await send('PATCH', `${one}?fieldManager=c`, { rules: null }, merge);
    expect([emptied.body['rules'], ownersOf(emptied)]).toEqual([null, [labels, ['c', 'f:rules']]]);
  });

  test('that a manager stops applying become null', async () => {
    const applied = await send('PATCH', `${one}?fieldManager=a`, { ...role, rules: [rule] }, apply);
    expect([applied.status, applied.body['rules']]).toEqual([201, [rule]]);
    const conflict = await send('PATCH', `${one}?fieldManager=b`, { ...role, rules: [] }, apply);
    expect([conflict.status, conflict.body.details?.causes]).toEqual([
      409,
      [expect.objectContaining({ field: '.rules' })],
    ]);
    const left = await send('PATCH', `${one}?fieldManager=a`, role, apply);
    expect([left.status, left.body['rules']]).toEqual([200, null]);
    expect((await send('GET', one)).body['rules']).toBeNull();
  });

  test('are null in YAML and in dry runs, too', async () => {
    const rehearsed = await send('POST', `${roles}?dryRun=All`, { ...role, rules: [] });
    expect(rehearsed.body['rules']).toBeNull();
    const yaml = 'metadata: {name: r}\nrules:\n';
    expect((await send('POST', roles, yaml, 'application/yaml')).body['rules']).toBeNull();
  });
});

test('an empty namespace selects cluster-scoped objects, and a namespace selects its own objects', async () => {
  for (const name of ['a', 'b']) await send('POST', '/clusterroles', { metadata: { name } });
  await send('POST', '/namespaces/n/roles', { metadata: { name: 'a' } });
  const names = async (path: string, selector: string): Promise<unknown> => {
    const { status, body } = await send('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`);
    return status === 200 ? body.items?.map(({ metadata }) => metadata.name) : status;
  };
  for (const [selector, clusterRoles, roles] of [
    ['metadata.namespace=', ['a', 'b'], []],
    ['metadata.namespace=n', [], ['a']],
    ['metadata.namespace!=n', ['a', 'b'], []],
    ['metadata.namespace=,metadata.name=b', ['b'], []],
    ['metadata.namespace!=,metadata.name=a', [], ['a']],
    ['rules=a', 400, 400],
  ] as const)
    expect([selector, await names('/clusterroles', selector), await names('/roles', selector)]).toEqual([
      selector,
      clusterRoles,
      roles,
    ]);
});

test('a binding that is applied without API groups owns them and can be reapplied without a change', async () => {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'b' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'Group', name: 'g' }],
  };
  const target = '/clusterrolebindings/b?fieldManager=a';
  const first = await send('PATCH', target, binding, apply);
  expect(first.body['subjects']).toEqual([{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'g' }]);
  expect(ownersOf(first)).toEqual([['a', 'f:roleRef', 'f:subjects']]);
  expect((await send('PATCH', target, binding, apply)).body).toEqual(first.body);
});
