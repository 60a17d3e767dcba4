import type { ClusterRole } from '@cluster-apiserver/kinds';
import type { PolicyRule } from '@cluster-apiserver/model';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type PolicyWorld, policyWorld, ruleFor } from '../../test/policy-world.ts';
import { beginTerm, type Term } from '../../test/term.ts';
import { quietTurns, until } from '../../test/turns.ts';
import { aggregateClusterRoles } from './aggregate-cluster-roles.ts';

let world: PolicyWorld;
let stops: (() => Promise<void>)[];
beforeEach(() => {
  world = policyWorld();
  stops = [];
});
afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await world.close();
});

function work(): Term {
  const term = beginTerm(aggregateClusterRoles, { api: world.open().api, clock: world.clock });
  stops.push(term.stop);
  return term;
}

const role = (name: string, labels: object, rules: readonly PolicyRule[]): Promise<void> =>
  world.set('clusterroles', name, { metadata: { labels }, rules });
const selecting = (...selectors: object[]): object => ({ aggregationRule: { clusterRoleSelectors: selectors } });
const rulesOf = async (name: string): Promise<readonly PolicyRule[] | null | undefined> =>
  ((await world.read('clusterroles', name)) as ClusterRole | undefined)?.rules;
const has = (name: string, ...rules: PolicyRule[]): Promise<void> =>
  until(
    `${name} has ${JSON.stringify(rules)}`,
    async () => JSON.stringify((await rulesOf(name)) ?? []) === JSON.stringify(rules),
  );
const [x, y, z] = [ruleFor('x'), ruleFor('y'), ruleFor('z')];

test('a role has the rules of those that it selects, each once and in the order of their names', async () => {
  await role('c', { part: 'yes' }, [z, x]);
  await role('b', { part: 'yes' }, [x, y]);
  await role('other', { part: 'no' }, [ruleFor('secret')]);
  await world.set('clusterroles', 'all', { ...selecting({ matchLabels: { part: 'yes' } }), rules: [ruleFor('old')] });
  work();
  await has('all', x, y, z);
  expect(await rulesOf('other')).toEqual([ruleFor('secret')]);
});

test('the rules are applied, so that they belong to the controller alone', async () => {
  await role('b', { part: 'yes' }, [x]);
  await world.set('clusterroles', 'all', { ...selecting({ matchLabels: { part: 'yes' } }), rules: [z] });
  work();
  await has('all', x);
  const owned = (await world.read('clusterroles', 'all'))?.metadata.managedFields ?? [];
  expect(owned.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('"f:rules"'))).toMatchObject([
    { manager: 'clusterrole-aggregation-controller', operation: 'Apply', fieldsV1: { 'f:rules': {} } },
  ]);
});

test('selected roles may come, change, lose their label and go', async () => {
  await world.set('clusterroles', 'all', selecting({ matchExpressions: [{ key: 'part', operator: 'Exists' }] }));
  const { events } = work();
  await role('b', { part: 'yes' }, [x]);
  await has('all', x);
  await world.change('clusterroles', 'b', (object) => ({ ...object, rules: [y] }));
  await has('all', y);
  await role('c', { part: 'yes' }, [z]);
  await has('all', y, z);
  await world.change('clusterroles', 'b', (object) => ({ ...object, metadata: { ...object.metadata, labels: {} } }));
  await has('all', z);
  await world.remove('clusterroles', 'c');
  await has('all');
  expect(events.filter(({ type }) => type === 'failed')).toEqual([]);
});

test('aggregation is transitive, cycles come to rest, and a role does not select itself', async () => {
  const both = { part: 'yes', more: 'yes' };
  await world.set('clusterroles', 'one', {
    metadata: { labels: both },
    ...selecting({ matchLabels: { part: 'yes' } }),
  });
  await world.set('clusterroles', 'two', {
    metadata: { labels: both },
    ...selecting({ matchLabels: { more: 'yes' } }),
  });
  await role('b', { part: 'yes' }, [x]);
  const { events } = work();
  await has('two', x);
  await has('one', x);
  await quietTurns();
  const settled = events.length;
  await quietTurns();
  expect(events).toHaveLength(settled);
});

test('several selectors count together, and one that selects nothing adds nothing', async () => {
  await role('b', { part: 'yes' }, [x]);
  await role('c', { tier: 'low' }, [y]);
  const none = { matchLabels: { part: 'yes', tier: 'low' } };
  const selectors = [
    none,
    { matchLabels: { tier: 'low' } },
    { matchExpressions: [{ key: 'part', operator: 'In', values: ['yes'] }] },
  ];
  await world.set('clusterroles', 'all', selecting(...selectors));
  work();
  await has('all', y, x);
});

test('while a role is unreadable no rules are removed', async () => {
  await role('b', { part: 'yes' }, [x]);
  await world.set('clusterroles', 'all', { ...selecting({ matchLabels: { part: 'yes' } }), rules: [z] });
  const unlock = world.lock('clusterroles', 'b');
  work();
  await role('c', { part: 'yes' }, [y]);
  await has('all', y, z);
  unlock();
  expect(await rulesOf('all')).toEqual([y, z]);
});

test.each<[string, () => Promise<void>]>([
  ['gone', () => world.remove('clusterroles', 'other')],
  [
    'readable again',
    () => world.change('clusterroles', 'other', (object) => ({ ...object, rules: [ruleFor('secrets')] })),
  ],
])('rules that an unreadable role has kept are removed once it is %s', async (_, end) => {
  await role('b', { part: 'yes' }, [x]);
  await role('other', { part: 'no' }, []);
  await world.set('clusterroles', 'all', selecting({ matchLabels: { part: 'yes' } }));
  const unlock = world.lock('clusterroles', 'other');
  work();
  await has('all', x);
  await world.change('clusterroles', 'b', (object) => ({ ...object, rules: [y] }));
  await has('all', y, x);
  await quietTurns();
  unlock();
  await end();
  await has('all', y);
});

test('a write that fails is tried again', async () => {
  let failures = 2;
  world.store.beforeWrite = () => {
    if (failures-- > 0) throw new Error('not now');
  };
  await world.set('clusterroles', 'all', selecting({ matchLabels: { part: 'yes' } }));
  await role('b', { part: 'yes' }, [x]);
  const { events } = work();
  await until('a pause', () => events.some(({ type }) => type === 'failed'));
  await until('the rules', async () => {
    world.clock.advance(100);
    return (await rulesOf('all'))?.length === 1;
  });
});
