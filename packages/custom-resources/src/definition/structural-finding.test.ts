import { runSync } from '@cluster-apiserver/base';
import { expect, test } from '@jest/globals';
import type { JsonSchema } from '../schema/json-schema.ts';
import { findStructuralFault } from './structural-finding.ts';

const faultOf = (schemas: readonly (JsonSchema | undefined)[], preserveUnknownFields?: boolean) =>
  runSync(
    findStructuralFault({
      ...(preserveUnknownFields !== undefined && { preserveUnknownFields }),
      versions: schemas.map((openAPIV3Schema, at) => ({
        name: `v${at + 1}`,
        ...(openAPIV3Schema && { schema: { openAPIV3Schema } }),
      })),
    }),
  );

const missing = 'type: Required value: must not be empty for specified object fields';

test('structural schemas, and versions without one, have no fault', () => {
  expect(faultOf([{ type: 'object', properties: { a: { type: 'string' } } }, undefined], false)).toBeUndefined();
});

test('all violations of all versions are named once', () => {
  expect(faultOf([{ type: 'object', properties: { a: {} } }])).toEqual({
    status: 'True',
    reason: 'Violations',
    message: `spec.versions[0].schema.openAPIV3Schema.properties[a].${missing}`,
  });
  expect(faultOf([{ type: 'object' }, { type: 'object', properties: { a: {} } }], true)).toEqual({
    status: 'True',
    reason: 'Violations',
    message: `[spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[1].schema.openAPIV3Schema.properties[a].${missing}]`,
  });
});

test('a schema that cannot be looked at is unknown', () => {
  expect(faultOf([{ type: 'object', definitions: {} }])).toEqual({
    status: 'Unknown',
    reason: 'StructuralError',
    message: "failed to check validation schema for version v1: OpenAPIV3Schema 'definitions' is not supported",
  });
});
