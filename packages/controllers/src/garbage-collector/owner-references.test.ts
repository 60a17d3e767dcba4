import { requireValue } from '@cluster-apiserver/base';
import { defineKind } from '@cluster-apiserver/model/kind';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import { expect, test } from '@jest/globals';
import { fixedApi } from '../../../registry/test/fixed-api.ts';
import { referenceResolver } from './owner-references.ts';

const kind = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: '',
  fields: {},
  otherVersions: [
    { group: 'example.com', version: 'v2', fields: {}, renamed: {}, selectableFields: {}, validate: () => [] },
  ],
});
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the resolver reads only the kind
const resources = kind.versions.map((served) => ({ kind, stored: kind, served }) as Resource);
const resource = requireValue(resources[0]);

test.each([
  ['example.com/v1', true],
  ['example.com/v2', true],
  ['example.com/v3', false],
  ['other.com/v1', false],
])('an owner of %s is known: %s', (apiVersion, isKnown) => {
  const ownerReferences = [{ apiVersion, kind: 'Robot', name: 'a', uid: 'u' }];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- and of the object where it is and who owns it
  const object = { namespace: 'n', lifecycle: { ownerReferences } } as unknown as StoredObject;
  const { references, hasUnknownOwners } = referenceResolver(fixedApi(resources))(resource, object);
  expect(references.map(({ uid }) => uid)).toEqual(isKnown ? ['u'] : []);
  expect(hasUnknownOwners).toBe(!isKnown);
});
