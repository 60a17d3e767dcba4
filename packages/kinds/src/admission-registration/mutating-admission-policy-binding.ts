import { defineKind, field, type KubeObject, object, publicationOf } from '@cluster-apiserver/model';
import { admissionKind, admissionRegistration, countingChangesOf } from './admission-registration.ts';
import { bindingColumns, bindingErrors, bindingFields, type BindingSpec, withBindingDefaults } from './binding.ts';
import { mutatedOperationErrors } from './mutated-operations.ts';

export interface MutatingAdmissionPolicyBinding extends KubeObject {
  spec: BindingSpec;
}

const spec = object(bindingFields, {
  numbers: { policyName: 1, paramRef: 2, matchResources: 3 },
  publication: publicationOf(
    { ...admissionRegistration, kind: 'MutatingAdmissionPolicyBindingSpec' },
    'The bound policy, the requests it applies to and its parameters.',
  ),
});

export const mutatingAdmissionPolicyBinding = defineKind<MutatingAdmissionPolicyBinding>({
  ...admissionKind,
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  description: 'Binds a MutatingAdmissionPolicy to requests and parameters, which enforces it.',
  fields: { spec: field(spec, 'The bound policy, the requests it applies to and its parameters.', 'always') },
  numbers: { spec: 2 },
  defaults: withBindingDefaults,
  prepare: countingChangesOf('spec'),
  validate: ({ spec }) => [
    ...bindingErrors(spec),
    ...mutatedOperationErrors('spec.matchResources', spec.matchResources),
  ],
  columns: bindingColumns,
});
