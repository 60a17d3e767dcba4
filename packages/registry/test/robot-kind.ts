import { defineKind, type Kind } from '@cluster-apiserver/model/kind';

/** A kind that has nothing of its own, for tests of what all kinds have. */
export const robotKind: Kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: {},
  qualifiedFinalizers: false,
  ownsOthers: false,
  deletedAnswer: 'object',
});
