import { expect, test } from '@jest/globals';
import type { ServedKind } from '@cluster-apiserver/model';
import { policiesInForce } from './policies-in-force.ts';

const resource = (group: string, plural: string) => ({ group, plural }) as ServedKind;
const accounts = resource('', 'serviceaccounts');

test.each<[string, ServedKind, string[]]>([
  ['an object', accounts, ['file', 'api']],
  ['a policy', resource('admissionregistration.k8s.io', 'mutatingadmissionpolicies'), ['file']],
  ['a binding', resource('admissionregistration.k8s.io', 'validatingadmissionpolicybindings'), ['file']],
  ['webhooks', resource('admissionregistration.k8s.io', 'mutatingwebhookconfigurations'), ['file', 'api']],
  ['a review of a token', resource('authentication.k8s.io', 'tokenreviews'), []],
  ['a review of access', resource('authorization.k8s.io', 'subjectaccessreviews'), []],
  ['a role', resource('rbac.authorization.k8s.io', 'roles'), ['file', 'api']],
])('a write of %s obeys the policies in their order', (_, written, expected) => {
  expect(
    policiesInForce(
      () => ['file'],
      () => ['api'],
    )(written),
  ).toEqual(expected);
});

test('nothing is made for a write as long as nothing changes', () => {
  let [files, api]: string[][] = [['file'], ['api']];
  const inForce = policiesInForce(
    () => files as string[],
    () => api as string[],
  );
  const before = inForce(accounts);
  expect(inForce(accounts)).toBe(before);
  files = ['other'];
  expect(inForce(accounts)).toEqual(['other', 'api']);
  api = [];
  expect(inForce(accounts)).toEqual(['other']);
  files = [];
  expect(inForce(accounts)).toBe(api);
});
