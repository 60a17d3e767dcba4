import { callUntil } from '@cluster-apiserver/base';
import type { AbacPolicy, AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import { expect, test } from '@jest/globals';
import { createAbacAuthorizer } from './abac.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const nothing: AbacPolicy = {
  user: '',
  group: '',
  namespace: '',
  resource: '',
  apiGroup: '',
  nonResourcePath: '',
  readonly: false,
};
const ann: UserInfo = { name: 'ann', groups: ['devs', 'system:authenticated'] };
const anonymous: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const resource = {
  group: '',
  version: 'v1',
  resource: 'events',
  subresource: undefined,
  namespace: 'team',
  name: undefined,
};
const listing: AccessAttributes = { user: ann, verb: 'list', path: '/x', resource };
const events = { namespace: 'team', resource: 'events' };

test.each<[boolean, Partial<AbacPolicy>, Partial<AccessAttributes>]>([
  [true, { user: 'ann', ...events }, {}],
  [false, { user: 'bob', ...events }, {}],
  [true, { group: 'devs', ...events }, {}],
  [false, { group: 'ops', ...events }, {}],
  [true, { user: 'ann', group: 'devs', ...events }, {}],
  [false, { user: 'ann', group: 'ops', ...events }, {}],
  [false, { user: 'bob', group: 'devs', ...events }, {}],
  [false, { ...events }, {}],
  [true, { user: '*', ...events }, {}],
  [true, { group: '*', ...events }, {}],
  [false, { user: '*', ...events }, { user: anonymous }],
  [true, { group: 'system:unauthenticated', ...events }, { user: anonymous }],
  [true, { user: 'ann', namespace: '*', resource: '*', apiGroup: '*' }, {}],
  [true, { user: 'ann', namespace: '*', resource: '*' }, {}],
  [false, { user: 'ann', namespace: '*', resource: '*', apiGroup: 'events.k8s.io' }, {}],
  [false, { user: 'ann', namespace: 'other', resource: '*' }, {}],
  [false, { user: 'ann', namespace: '*', resource: 'namespaces' }, {}],
  [false, { user: 'ann', resource: 'events' }, {}],
  [true, { user: 'ann', resource: 'events' }, { resource: { ...resource, namespace: undefined } }],
  [true, { user: 'ann', readonly: true, ...events }, {}],
  [true, { user: 'ann', readonly: true, ...events }, { verb: 'watch' }],
  [false, { user: 'ann', readonly: true, ...events }, { verb: 'delete' }],
  [true, { user: 'ann', ...events }, { verb: 'delete' }],
  [false, { user: 'ann', ...events }, { resource: undefined }],
  [true, { user: 'ann', nonResourcePath: '/x' }, { resource: undefined }],
  [false, { user: 'ann', nonResourcePath: '/x' }, {}],
  [false, { user: 'ann', nonResourcePath: '/x' }, { resource: undefined, path: '/xy' }],
  [true, { user: 'ann', nonResourcePath: '/x*' }, { resource: undefined, path: '/xy' }],
  [true, { user: 'ann', nonResourcePath: '*' }, { resource: undefined }],
  [false, { user: 'ann', ...events }, { resource: undefined, path: '' }],
  [false, { user: '__proto__', ...events }, {}],
])('that it is allowed is %s by %j for %j', (allowed, policy, part) => {
  const decision = createAbacAuthorizer([nothing, { ...nothing, ...policy }]).authorize({ ...listing, ...part }, call);
  expect(decision).toEqual(allowed ? { verdict: 'allow' } : { verdict: 'noOpinion', reason: 'No policy matched.' });
});

test('the rules of a user are those of all policies for a namespace', () => {
  const { rulesOf } = createAbacAuthorizer([
    { ...nothing, user: 'ann', ...events, apiGroup: '*' },
    { ...nothing, group: 'devs', namespace: '*', resource: '*', readonly: true },
    { ...nothing, group: 'devs', namespace: 'other', resource: 'namespaces' },
    { ...nothing, user: '*', nonResourcePath: '/version', readonly: true },
    { ...nothing, user: 'bob', nonResourcePath: '*' },
  ]);
  expect(rulesOf(ann, 'team', call)).toEqual({
    resource: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['events'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['*'] },
    ],
    nonResource: [{ verbs: ['get', 'list', 'watch'], nonResourceURLs: ['/version'] }],
    incomplete: false,
  });
});
