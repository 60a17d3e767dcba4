import type { ClusterRole, ClusterRoleBinding } from '@cluster-apiserver/kinds';
import { rbacGroup } from '@cluster-apiserver/model';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { resourceIn, untimed } from '../../test/objects.ts';
import { grants, type PolicyWorld, policyWorld, ruleFor, userNamed } from '../../test/policy-world.ts';
import { defaultBindings, defaultRoles } from './default-roles.ts';
import { createRecordedLog, type LoggedEvent } from '../../test/recorded-log.ts';
import { reconcileDefaultRoles } from './reconcile-default-roles.ts';

let world: PolicyWorld;
beforeEach(() => {
  world = policyWorld();
});
afterEach(() => world.close());

/** By a replica of its own, as at its start. */
async function reconcile(): Promise<LoggedEvent[]> {
  const { log, events } = createRecordedLog();
  const registry = world.open();
  await registry.cache.firstLoad;
  await reconcileDefaultRoles({
    clusterRoles: resourceIn(registry, 'clusterroles'),
    clusterRoleBindings: resourceIn(registry, 'clusterrolebindings'),
    call: () => untimed,
    log,
  });
  return events;
}
const role = async (name: string): Promise<ClusterRole> => (await world.read('clusterroles', name)) as ClusterRole;
const binding = async (name: string): Promise<ClusterRoleBinding> =>
  (await world.read('clusterrolebindings', name)) as ClusterRoleBinding;
const total = defaultRoles.length + defaultBindings.length;
const annotated = (value: string) => ({
  annotations: { 'rbac.authorization.kubernetes.io/autoupdate': value },
});

test('an empty store gets all of them, marked as defaults, and a second start writes nothing', async () => {
  const created = await reconcile();
  expect(created).toHaveLength(total);
  expect(new Set(created.map(({ type }) => type))).toEqual(new Set(['created']));
  expect(await role('edit')).toMatchObject({
    metadata: {
      labels: {
        'kubernetes.io/bootstrapping': 'rbac-defaults',
        'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
      },
      ...annotated('true'),
    },
    aggregationRule: {
      clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } }],
    },
  });
  expect(await binding('cluster-admin')).toMatchObject({
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', name: 'system:masters' }],
  });
  const { writes } = world.store.asked;
  expect(await reconcile()).toEqual([]);
  expect(world.store.asked.writes).toBe(writes);
});

test('every binding refers to one of the roles', () => {
  const names = defaultRoles.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name } of defaultBindings) expect(names).toContain(name);
});

test('many replicas may start at once', async () => {
  const all = await Promise.all([reconcile(), reconcile(), reconcile(), reconcile()]);
  expect(all.flat().filter(({ type }) => type === 'created')).toHaveLength(total);
  expect(all.flat().filter(({ type }) => type !== 'created')).toEqual([]);
});

describe('What an operator has changed', () => {
  const other = { ...ruleFor('x'), apiGroups: ['other'] };

  test('is completed, and nothing of it is removed', async () => {
    await world.set('clusterroles', 'system:basic-user', {
      metadata: { labels: { mine: 'yes' } },
      rules: [other, { verbs: ['*'], apiGroups: ['authorization.k8s.io'], resources: ['*'] }],
    });
    await world.set('clusterroles', 'view', {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { mine: 'yes' } }] },
      rules: [other],
    });
    await world.set('clusterrolebindings', 'system:discovery', grants('system:discovery', [userNamed('alice')]));
    const events = await reconcile();
    expect(events.filter(({ type }) => type === 'updated').map(({ name }) => name)).toEqual([
      'view',
      'system:basic-user',
      'system:discovery',
    ]);
    const { metadata, rules } = await role('system:basic-user');
    expect(metadata.labels).toEqual({ mine: 'yes', 'kubernetes.io/bootstrapping': 'rbac-defaults' });
    // Its second rule covers one of the two defaults.
    expect(rules?.map(({ apiGroups }) => apiGroups?.[0])).toEqual([
      'other',
      'authorization.k8s.io',
      'authentication.k8s.io',
    ]);
    const view = await role('view');
    expect(view.rules).toEqual([other]);
    expect(view.aggregationRule?.clusterRoleSelectors).toHaveLength(2);
    expect((await binding('system:discovery')).subjects?.map(({ name }) => name)).toEqual([
      'alice',
      'system:authenticated',
    ]);
    expect(await reconcile()).toEqual([]);
  });

  test('is left alone where autoupdate is false', async () => {
    await world.set('clusterroles', 'system:discovery', { metadata: annotated('false'), rules: [other] });
    await world.set('clusterrolebindings', 'system:discovery', {
      metadata: annotated('false'),
      ...grants('another', []),
    });
    const events = await reconcile();
    expect(events.filter(({ type }) => type === 'protected')).toHaveLength(2);
    expect((await role('system:discovery')).rules).toEqual([other]);
    expect((await binding('system:discovery')).roleRef.name).toBe('another');
  });

  test('is made anew where a binding refers to another role', async () => {
    await world.set('clusterrolebindings', 'system:discovery', grants('another', [userNamed('alice')]));
    const events = await reconcile();
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'recreated', kind: 'ClusterRoleBinding', name: 'system:discovery' }),
    );
    expect((await binding('system:discovery')).roleRef).toEqual({
      apiGroup: rbacGroup,
      kind: 'ClusterRole',
      name: 'system:discovery',
    });
  });

  test('and cannot be read is reported, and does not hold up the others', async () => {
    await world.set('clusterroles', 'system:discovery', { rules: [other] });
    world.lock('clusterroles', 'system:discovery');
    const events = await reconcile();
    expect(events).toContainEqual({ type: 'unreadable', count: 1, first: 'ClusterRole/system:discovery' });
    expect(events).toHaveLength(total);
  });
});

test('a failed write fails the reconciliation, after all others were written', async () => {
  await reconcile();
  await world.change('clusterroles', 'system:discovery', (object) => ({ ...object, rules: [] }));
  await world.change('clusterroles', 'system:monitoring', (object) => ({ ...object, rules: [] }));
  world.store.beforeWrite = (_, key) => {
    if (key.endsWith('/system:discovery')) throw new Error('not now');
  };
  await expect(reconcile()).rejects.toThrow('1 default roles were not written');
  expect((await role('system:monitoring')).rules).not.toHaveLength(0);
  world.store.beforeWrite = () => {};
  expect(await reconcile()).toMatchObject([{ type: 'updated', kind: 'ClusterRole', name: 'system:discovery' }]);
});
