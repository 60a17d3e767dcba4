import { sameJson } from '@cluster-apiserver/model/json';
import { findUnknownFormats } from '@cluster-apiserver/custom-resources';
import { defineKind, undeclaredColumns } from '@cluster-apiserver/model/kind';
import { apiExtensions } from './api-extensions.ts';
import { type CustomResourceDefinition, fields } from './definition-fields.ts';
import { beginDeletion, prepareDefinition, withDefaults } from './prepare-definition.ts';
import { validateConditionCount, validateDefinition } from './validate-definition.ts';
import { fromV1beta1, v1beta1 } from './v1beta1.ts';

/** Those with the largest schemas, which describe several pods each, have 60,000 in more than a megabyte. */
const valuesMax = 75_000;

/** Defines a kind of objects, which is served while the definition exists. */
export const customResourceDefinition = defineKind({
  ...apiExtensions,
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  description: 'Defines a kind of objects, which is served while the definition exists.',
  fields,
  requiredFields: ['spec'],
  otherVersions: [v1beta1],
  conversion: fromV1beta1,
  storage: { prefix: 'apiextensions.k8s.io/customresourcedefinitions' },
  updateNeedsVersion: true,
  qualifiedFinalizers: false,
  metadataChecks: 'change',
  valuesMax,
  fieldSubresources: [
    {
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      fields: ['status'],
      givenOnCreate: false,
      keepsMetadata: false,
    },
  ],
  defaults: withDefaults,
  prepare: prepareDefinition,
  validateCounts: validateConditionCount,
  validateInSteps: validateDefinition,
  warnings: (definition, current) => {
    // Most writes are of the status.
    if (sameJson(definition.spec.versions, current?.spec.versions)) return [];
    const before = current ? unknownFormatsOf(current) : new Set();
    return [...unknownFormatsOf(definition)]
      .filter((format) => !before.has(format))
      .map((format) => `unrecognized format ${JSON.stringify(format)}`);
  },
  deletion: { isHeld: () => false, begin: beginDeletion, ignoresPropagation: true },
  columns: undeclaredColumns,
});

function unknownFormatsOf({ spec }: CustomResourceDefinition): Set<string> {
  const found = new Set<string>();
  for (const { schema } of spec.versions ?? [])
    if (schema?.openAPIV3Schema) findUnknownFormats(schema.openAPIV3Schema, found);
  return found;
}
