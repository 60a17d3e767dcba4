import { describe, expect, test } from '@jest/globals';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { errorTexts, problemsOf } from '../../test/problems-of.ts';
import { clusterRoleBinding } from './cluster-role-binding.ts';
import { roleBinding } from './role-binding.ts';
import { rbac } from './rbac.ts';

const { group: apiGroup } = rbac;
const roleRef = { apiGroup, kind: 'ClusterRole', name: 'r' };
/** A binding as a writer means it. */
const bound = (kind: Kind, fields: object): KubeObject => {
  const object = decode(kind.schema, { metadata: { name: 'x' }, roleRef, ...fields }, () => {});
  return kind.defaults?.(object) ?? object;
};
const errorsOf = (kind: Kind, fields: object, current?: object): string[] =>
  errorTexts(problemsOf(kind, bound(kind, fields), current && bound(kind, current)));

describe.each([roleBinding, clusterRoleBinding])('$kind', (kind) => {
  test.each<[string, object, readonly string[]]>([
    ['of a user', { kind: 'User', name: 'u', apiGroup }, []],
    ['of a user with a namespace', { kind: 'User', name: 'u', apiGroup, namespace: 'x' }, []],
    ['of a user with any name', { kind: 'User', name: 'Jane Doe/é', apiGroup }, []],
    ['of a group', { kind: 'Group', name: 'g', apiGroup }, []],
    ['of a service account', { kind: 'ServiceAccount', name: 'a', namespace: 'n' }, []],
    ['without a kind', { name: 'a' }, ['kind NotSupported']],
    ['of another kind', { kind: 'Role', name: 'a', apiGroup }, ['kind NotSupported']],
    ['with nothing in it', {}, ['name Required', 'kind NotSupported']],
    ['of a user without a name', { kind: 'User', apiGroup }, ['name Required']],
    ['of a group of another API group', { kind: 'Group', name: 'g', apiGroup: 'v1' }, ['apiGroup NotSupported']],
    ['of a user of another API group', { kind: 'User', name: 'u', apiGroup: 'apps' }, ['apiGroup NotSupported']],
    [
      'of a service account with an API group',
      { kind: 'ServiceAccount', name: 'a', namespace: 'n', apiGroup },
      ['apiGroup NotSupported'],
    ],
    ['of a service account without a name', { kind: 'ServiceAccount', namespace: 'n' }, ['name Required']],
    [
      'of a service account with a wrong name',
      { kind: 'ServiceAccount', name: 'A_', namespace: 'n' },
      ['name Invalid'],
    ],
  ])('with a subject %s', (_, subject, wrong) => {
    expect(errorsOf(kind, { subjects: [{ kind: 'User', name: 'u' }, subject] })).toEqual(
      wrong.map((error) => `subjects[1].${error}`),
    );
  });

  test.each<[object, readonly string[]]>([
    [{ name: '' }, ['name Required']],
    [{ name: 'a/b' }, ['name Invalid']],
    [{ name: 'a%b' }, ['name Invalid']],
    [{ name: '..' }, ['name Invalid']],
    [{ name: 'system:x' }, []],
    [{ kind: '' }, ['kind NotSupported']],
    [{ kind: 'Group' }, ['kind NotSupported']],
    [{ apiGroup: 'apps' }, ['apiGroup NotSupported']],
  ])('with a roleRef of %j', (part, wrong) => {
    expect(errorsOf(kind, { roleRef: { ...roleRef, ...part } })).toEqual(wrong.map((error) => `roleRef.${error}`));
  });

  test('without a roleRef has nothing to refer to', () => {
    expect(errorsOf(kind, { roleRef: undefined })).toEqual(['roleRef.kind NotSupported', 'roleRef.name Required']);
  });

  test('keeps its roleRef, whatever becomes of its subjects', () => {
    const current = { roleRef };
    expect(errorsOf(kind, { roleRef, subjects: [{ kind: 'User', name: 'u' }] }, current)).toEqual([]);
    expect(errorsOf(kind, { roleRef: { kind: 'ClusterRole', name: 'r' } }, current)).toEqual([]);
    expect(errorsOf(kind, { roleRef: { ...roleRef, name: 's' } }, current)).toEqual(['roleRef Invalid']);
    expect(errorsOf(kind, { roleRef: { ...roleRef, apiGroup: 'a' } }, current)).toEqual([
      'roleRef.apiGroup NotSupported',
      'roleRef Invalid',
    ]);
  });

  test('has its API groups filled in, and no namespaces', () => {
    const subjects = ['User', 'Group', 'ServiceAccount', 'Robot'].map((kind) => ({ kind, name: 'x' }));
    expect(bound(kind, { roleRef: { kind: 'ClusterRole', name: 'r' }, subjects })).toMatchObject({
      roleRef,
      subjects: [
        { kind: 'User', apiGroup, name: 'x' },
        { kind: 'Group', apiGroup, name: 'x' },
        { kind: 'ServiceAccount', name: 'x' },
        { kind: 'Robot', name: 'x' },
      ],
    });
    const [, , account] = bound(kind, { subjects })['subjects'] as readonly object[];
    expect(account).toEqual({ kind: 'ServiceAccount', name: 'x' });
    const other = { kind: 'User', apiGroup: 'a', name: 'x' };
    expect(bound(kind, { subjects: [other] })).toMatchObject({ subjects: [other] });
    expect(bound(kind, {})).not.toHaveProperty('subjects');
  });
});

test('only a RoleBinding refers to a Role, or leaves out the namespace of a service account', () => {
  const role = { roleRef: { ...roleRef, kind: 'Role' } };
  const account = { subjects: [{ kind: 'ServiceAccount', name: 'a' }] };
  expect([errorsOf(roleBinding, role), errorsOf(roleBinding, account)]).toEqual([[], []]);
  expect(errorsOf(clusterRoleBinding, role)).toEqual(['roleRef.kind NotSupported']);
  expect(errorsOf(clusterRoleBinding, account)).toEqual(['subjects[0].namespace Required']);
});

test('a row shows the role, and the subjects by their kind', () => {
  const binding = bound(roleBinding, {
    subjects: [
      { kind: 'User', name: 'u1' },
      { kind: 'ServiceAccount', name: 'a', namespace: 'x' },
      { kind: 'ServiceAccount', name: 'b' },
      { kind: 'User', name: 'u2' },
    ],
  });
  expect(roleBinding.columns.map(({ name, value }) => [name, value(binding, 0)])).toEqual([
    ['Name', 'x'],
    ['Role', 'ClusterRole/r'],
    ['Age', '<unknown>'],
    ['Users', 'u1, u2'],
    ['Groups', ''],
    ['ServiceAccounts', 'x/a, /b'],
  ]);
});
