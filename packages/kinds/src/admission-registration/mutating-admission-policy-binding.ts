import { defineKind, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, object } from '@cluster-apiserver/model/schema';
import { admissionKind, publicationOfPart, unservedVersions } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { bindingColumns, bindingFields, validateBinding, withBindingDefaults } from './binding.ts';
import { validateMutatedOperations } from './match-resources.ts';

const specSchema = object(bindingFields, {
  publication: publicationOfPart(
    'MutatingAdmissionPolicyBindingSpec',
    'The bound policy, the requests it applies to and its parameters.',
  ),
});

const fields = {
  spec: field(2, specSchema, 'The bound policy, the requests it applies to and its parameters.', 'always'),
};

export type MutatingAdmissionPolicyBinding = ObjectOf<typeof fields>;

export const mutatingAdmissionPolicyBinding = defineKind({
  ...admissionKind,
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Binds a MutatingAdmissionPolicy to requests and parameters, which enforces it.',
  fields,
  otherVersions: unservedVersions(fields),
  defaults: withBindingDefaults,
  prepare: countingChangesOf('spec'),
  validate: ({ spec }, _, problems) => {
    validateBinding(spec, problems.at('spec'));
    validateMutatedOperations(spec.matchResources, problems.at('spec', 'matchResources'));
  },
  columns: bindingColumns,
});
