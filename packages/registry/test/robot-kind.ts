import { defineKind, type Kind, subdomainNames } from '@cluster-apiserver/model';

/** A kind that has nothing of its own, for tests of what all kinds have. */
export const robotKind: Kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  shortNames: [],
  description: 'For these tests.',
  fields: {},
  names: subdomainNames,
  qualifiedFinalizers: false,
  createOnReplace: false,
  ownsOthers: false,
  deletedAnswer: 'object',
  subresources: [],
  selectableFields: {},
  unknownSelectorField: (name) => name,
});
