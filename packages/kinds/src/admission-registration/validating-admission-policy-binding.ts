import type { Problems } from '@cluster-apiserver/model';
import { defineKind, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, string } from '@cluster-apiserver/model/schema';
import { admissionKind, publicationOfPart, unservedVersions } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { bindingColumns, bindingFields, validateBinding, withBindingDefaults } from './binding.ts';

const specSchema = object(
  {
    ...bindingFields,
    validationActions: field(
      4,
      list(string, 'set'),
      'Actions for a validation that fails. Deny: the request is rejected. Warn: the response has a warning. Audit: the audit event has an annotation. Deny and Warn exclude each other.',
    ),
  },
  {
    publication: publicationOfPart(
      'ValidatingAdmissionPolicyBindingSpec',
      'The bound policy, the requests it applies to and its parameters.',
    ),
  },
);

const fields = {
  spec: field(2, specSchema, 'The bound policy, the requests it applies to and its parameters.', 'always'),
};

export type ValidatingAdmissionPolicyBinding = ObjectOf<typeof fields>;

export const validatingAdmissionPolicyBinding = defineKind({
  ...admissionKind,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  singular: 'validatingadmissionpolicybinding',
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Binds a ValidatingAdmissionPolicy to requests and parameters, which enforces it.',
  fields,
  otherVersions: unservedVersions(fields),
  defaults: withBindingDefaults,
  prepare: countingChangesOf('spec'),
  validate: ({ spec }, _, problems) => {
    validateBinding(spec, problems.at('spec'));
    validateActions(spec.validationActions ?? [], problems.at('spec', 'validationActions'));
  },
  columns: bindingColumns,
});

const knownActions = ['Audit', 'Deny', 'Warn'];

function validateActions(actions: readonly string[], problems: Problems): void {
  const seen = new Set<string>();
  problems.each(actions, (action, at) => {
    at.oneOf(action, knownActions);
    if (seen.has(action)) at.duplicate(action);
    seen.add(action);
  });
  if (seen.has('Deny') && seen.has('Warn'))
    problems.invalid(
      actions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  if (actions.length === 0) problems.required('at least one validation action is required');
}
