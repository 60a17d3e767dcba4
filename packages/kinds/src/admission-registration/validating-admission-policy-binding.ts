import {
  defineKind,
  duplicate,
  type FieldError,
  FieldErrors,
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

function actionErrors(actions: readonly string[]): FieldError[] {
  const errors = new FieldErrors();
  const seen = new Set<string>();
  for (const [index, action] of actions.entries()) {
    if (!knownActions.includes(action)) errors.add(() => notSupported(`${at}[${index}]`, action, knownActions));
    if (seen.has(action)) errors.add(() => duplicate(`${at}[${index}]`, action));
    seen.add(action);
  }
  if (seen.has('Deny') && seen.has('Warn'))
    errors.add(() =>
      invalidValue(
        at,
        actions,
        'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ),
    );
  if (actions.length === 0) errors.add(() => required(at, 'at least one validation action is required'));
  return errors.all;
}
