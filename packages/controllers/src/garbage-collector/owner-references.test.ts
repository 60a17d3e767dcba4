import { defineKind } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import { expect, test } from '@jest/globals';
import { referenceResolver } from './owner-references.ts';

const kind = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: '',
  fields: {},
  otherVersions: { 'example.com/v2': {} },
});
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the resolver reads only the kind
const resource = { kind } as Resource;

test.each([
  ['example.com/v1', true],
  ['example.com/v2', true],
  ['example.com/v3', false],
  ['other.com/v1', false],
])('an owner of %s is known: %s', (apiVersion, isKnown) => {
  const ownerReferences = [{ apiVersion, kind: 'Robot', name: 'a', uid: 'u' }];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- and of the object where it is and who owns it
  const object = { namespace: 'n', lifecycle: { ownerReferences } } as unknown as StoredObject;
  const { references, hasUnknownOwners } = referenceResolver([resource])(resource, object);
  expect(references.map(({ uid }) => uid)).toEqual(isKnown ? ['u'] : []);
  expect(hasUnknownOwners).toBe(!isKnown);
});
