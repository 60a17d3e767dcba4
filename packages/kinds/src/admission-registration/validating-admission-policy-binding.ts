import {
  defineKind,
  duplicate,
  type FieldError,
  field,
  invalidValue,
  list,
  notSupported,
  object,
  required,
  string,
  type ObjectOf,
} from '@cluster-apiserver/model';
import { admissionKind, countingChangesOf, publicationOfPart } from './admission-registration.ts';
import { bindingColumns, bindingErrors, bindingFields, withBindingDefaults } from './binding.ts';

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
  description: 'Binds a ValidatingAdmissionPolicy to requests and parameters, which enforces it.',
  fields,
  defaults: withBindingDefaults,
  prepare: countingChangesOf('spec'),
  validate: ({ spec }) => [...bindingErrors(spec), ...actionErrors(spec.validationActions ?? [])],
  columns: bindingColumns,
});

const at = 'spec.validationActions';
const knownActions = ['Audit', 'Deny', 'Warn'];

const actionErrors = (actions: readonly string[]): FieldError[] => [
  ...actions.flatMap((action, index) => [
    ...(knownActions.includes(action) ? [] : [notSupported(`${at}[${index}]`, action, knownActions)]),
    ...(actions.indexOf(action) < index ? [duplicate(`${at}[${index}]`, action)] : []),
  ]),
  ...(actions.includes('Deny') && actions.includes('Warn')
    ? [
        invalidValue(
          at,
          actions,
          'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
        ),
      ]
    : []),
  ...(actions.length === 0 ? [required(at, 'at least one validation action is required')] : []),
];
