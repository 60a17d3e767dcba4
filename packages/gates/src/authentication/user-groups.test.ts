import { describe, expect, test } from '@jest/globals';
import { addAssumedGroup, addAuthenticatedGroup } from './user-groups.ts';

/** What a user is given besides: by an authenticator, and where another user acts for it. */
describe.each([
  ['bob', [], ['system:authenticated'], ['system:authenticated']],
  ['bob', ['a'], ['a', 'system:authenticated'], ['a', 'system:authenticated']],
  ['bob', ['system:authenticated', 'a'], ['system:authenticated', 'a'], ['system:authenticated', 'a']],
  ['bob', ['system:unauthenticated'], ['system:unauthenticated'], ['system:unauthenticated']],
  ['system:anonymous', [], [], ['system:unauthenticated']],
  ['system:anonymous', ['a'], ['a'], ['a', 'system:unauthenticated']],
])('%s in %j', (name, groups, authenticated, assumed) => {
  test('gets the groups that the reference gives', () => {
    expect(addAuthenticatedGroup({ name, groups }).groups).toEqual(authenticated);
    expect(addAssumedGroup({ name, groups }).groups).toEqual(assumed);
  });
});
