import type { AccessAttributes } from '@cluster-apiserver/model';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { untimed } from '../../test/objects.ts';
import { grants, type PolicyWorld, policyWorld, ruleFor, userNamed } from '../../test/policy-world.ts';
import { quietTurns, until } from '../../test/turns.ts';
import { FollowedPolicy, policyResources } from './follow-policy.ts';

let world: PolicyWorld;
let policy: FollowedPolicy | undefined;
beforeEach(() => {
  world = policyWorld();
});
afterEach(async () => {
  await policy?.close();
  policy = undefined;
  await world.close();
});

const failed = (error: unknown): never => {
  throw error;
};
function follow(): FollowedPolicy {
  policy = new FollowedPolicy({ resources: policyResources(world.open().api), clock: world.clock, failed });
  return policy;
}
const asks = (name: string, namespace: string | undefined): AccessAttributes => ({
  user: { name, groups: [] },
  verb: 'get',
  path: '',
  resource: { group: '', version: 'v1', resource: 'x', subresource: undefined, namespace, name: 'n' },
});
const allows = (name: string, namespace?: string): boolean =>
  policy?.current()?.authorize(asks(name, namespace)).verdict === 'allow';
const comes = (what: string, fact: () => boolean): Promise<void> => until(what, fact);

test('nothing is decided before roles and bindings have been read, and all is known afterwards', async () => {
  await world.set('clusterroles', 'r', { rules: [ruleFor('x')] });
  for (let at = 0; at < 300; at++) await world.set('clusterrolebindings', `b${at}`, grants('r', [userNamed(`u${at}`)]));
  await world.set('rolebindings', 'b', grants('r', [userNamed('alice')]), 'a');
  const { current, refresh } = follow();
  expect(current()).toBeUndefined();
  await comes('the index', () => current() !== undefined);
  expect([allows('u0'), allows('u299'), allows('alice', 'a'), allows('alice', 'b')]).toEqual([true, true, true, false]);
  await refresh(untimed);
});

test('every change of the four kinds takes effect', async () => {
  follow();
  await comes('the index', () => policy?.current() !== undefined);
  await world.set('roles', 'r', { rules: [ruleFor('x')] }, 'a');
  await world.set('rolebindings', 'b', grants('r', [userNamed('alice')], 'Role'), 'a');
  await comes('the right in a namespace', () => allows('alice', 'a'));
  await world.remove('roles', 'r', 'a');
  await comes('no right without the role', () => !allows('alice', 'a'));
  await world.set('roles', 'r', { rules: [ruleFor('x')] }, 'a');
  await comes('the right again', () => allows('alice', 'a'));
  await world.remove('rolebindings', 'b', 'a');
  await comes('no right without the binding', () => !allows('alice', 'a'));
  await world.set('clusterroles', 'c', { rules: [] });
  await world.set('clusterrolebindings', 'cb', grants('c', [userNamed('bob')]));
  await world.change('clusterroles', 'c', (object) => ({ ...object, rules: [ruleFor('x')] }));
  await comes('the right everywhere', () => allows('bob') && allows('bob', 'z'));
});

test('changes of the time in which the index is built are in it', async () => {
  for (let at = 0; at < 300; at++) await world.set('clusterroles', `r${at}`, { rules: [ruleFor('x')] });
  const { current } = follow();
  await world.set('clusterrolebindings', 'b', grants('r299', [userNamed('alice')]));
  await comes('the right', () => allows('alice'));
  expect(current()).toBeDefined();
});

test('a reload of the watch cache drops removed roles and bindings', async () => {
  await world.set('clusterroles', 'r', { rules: [ruleFor('x')] });
  await world.set('clusterrolebindings', 'b', grants('r', [userNamed('alice')]));
  follow();
  await comes('the right', () => allows('alice'));
  const release = world.store.hold();
  await world.remove('clusterrolebindings', 'b');
  await world.set('clusterrolebindings', 'c', grants('r', [userNamed('bob')]));
  await quietTurns();
  expect([allows('alice'), allows('bob')]).toEqual([true, false]);
  world.store.cut(new Error('the watch ended'));
  release();
  await comes('the state of the reload', () => {
    world.clock.advance(100);
    return allows('bob') && !allows('alice');
  });
});

test('an unreadable role grants nothing, and is named', async () => {
  await world.set('clusterroles', 'r', { rules: [ruleFor('x')] });
  await world.set('clusterrolebindings', 'b', grants('r', [userNamed('alice')]));
  world.lock('clusterroles', 'r');
  const { current } = follow();
  await comes('the index', () => current() !== undefined);
  expect(current()?.authorize(asks('alice', undefined))).toEqual({
    verdict: 'noOpinion',
    reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "r" cannot be read',
  });
});
