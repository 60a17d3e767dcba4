import { defineKind } from '../src/kind/kind.ts';
import type { KubeObject } from '../src/kind/object.ts';
import { objectReference } from '../src/schema/common.ts';
import { decode } from '../src/schema/decode.ts';
import { boolean, jsonField, list, object, string } from '../src/schema/schema.ts';
import { pathSegmentNames } from '../src/validation/names.ts';

/** A kind with every way of sharing a value among writers. */
export const robotKind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: {
    about: jsonField(objectReference, 'One owner owns all of it.', 'always'),
    source: jsonField(
      object({ host: jsonField(string, ''), part: jsonField(string, '') }),
      'Each field has an owner.',
      'always',
    ),
    secrets: jsonField(list(objectReference, { keys: ['name'] }), 'Each entry has an owner.'),
    words: jsonField(list(string, 'atomic'), 'One owner owns the list.'),
    state: jsonField(object({ mood: jsonField(string, ''), task: jsonField(string, '') }), 'Absent when empty.'),
    awake: jsonField(boolean, 'Yes or no.', 'given'),
  },
  names: pathSegmentNames,
  qualifiedFinalizers: false,
  ownsOthers: false,
});

/** A robot in canonical form. */
export const robot = (fields: object): KubeObject =>
  decode(robotKind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: {}, ...fields }, () => {});
export const emptyRobot = robot({});
