import type { SyncTask } from '@cluster-apiserver/base';
import {
  ageColumn,
  defineKind,
  duplicate,
  type FieldError,
  FieldErrors,
  field,
  int64,
  invalidValue,
  list,
  nameColumn,
  notSupported,
  object,
  qualifiedName,
  required,
  sameJson,
  string,
  type ObjectOf,
  type Reason,
  withNumber,
  type ValueOf,
} from '@cluster-apiserver/model';
import { admissionKind, countingChangesOf, publicationOfPart, validateChangesOf } from './admission-registration.ts';
import { addConditionErrors, condition } from './conditions.ts';
import { type ExpressionChecker, expressionChecker } from './expressions.ts';
import { failurePolicy } from './failure-policy.ts';
import { matchConditionsField } from './match-conditions.ts';
import { addPolicyErrors, addVariableErrors, paramKindColumn, policyFields, withPolicyDefaults } from './policy.ts';

const validationSchema = object(
  {
    expression: field(
      1,
      string,
      'CEL expression that must be true for the request to be accepted. Variables: object, oldObject, request, params, namespaceObject, variables and authorizer.',
      'always',
    ),
    message: field(2, string, 'Message for the user if the expression is not true.'),
    reason: field(
      3,
      string,
      'Reason of the failure: Forbidden, Invalid or RequestEntityTooLarge. Defaults to Invalid.',
      'given',
    ),
    messageExpression: field(
      4,
      string,
      'CEL expression of the message; takes precedence over message. It cannot use authorizer.',
    ),
  },
  {
    publication: publicationOfPart('Validation', 'A rule that requests must meet.', ['expression']),
  },
);

export type Validation = ValueOf<typeof validationSchema>;

const auditAnnotation = object(
  {
    key: field(1, string, 'Key of the annotation. The name of the policy and a slash are put before it.', 'always'),
    valueExpression: field(2, string, 'CEL expression of the value; null means no annotation.', 'always'),
  },
  {
    publication: publicationOfPart('AuditAnnotation', 'An annotation of the audit events of matching requests.', [
      'key',
      'valueExpression',
    ]),
  },
);

export type AuditAnnotation = ValueOf<typeof auditAnnotation>;

const specSchema = object(
  {
    paramKind: withNumber(1, policyFields.paramKind),
    matchConstraints: withNumber(2, policyFields.matchConstraints),
    validations: field(3, list(validationSchema, 'atomic'), 'Rules that matching requests must meet.'),
    failurePolicy: withNumber(4, failurePolicy),
    auditAnnotations: field(
      5,
      list(auditAnnotation, 'atomic'),
      'Annotations of the audit events of matching requests.',
    ),
    matchConditions: withNumber(6, matchConditionsField),
    variables: withNumber(7, policyFields.variables),
  },
  {
    publication: publicationOfPart(
      'ValidatingAdmissionPolicySpec',
      'Rules of a policy and the requests they apply to.',
    ),
  },
);

const expressionWarning = object(
  {
    fieldRef: field(2, string, 'Path of the expression, such as spec.validations[0].expression.', 'always'),
    warning: field(3, string, 'Result of the type check.', 'always'),
  },
  {
    publication: publicationOfPart('ExpressionWarning', 'A warning of the type check about an expression.', [
      'fieldRef',
      'warning',
    ]),
  },
);

const statusSchema = object(
  {
    observedGeneration: field(1, int64, 'Generation of the policy that the status refers to.'),
    typeChecking: field(
      2,
      object(
        {
          expressionWarnings: field(1, list(expressionWarning, 'atomic'), 'Result of the type check.'),
        },
        {
          publication: publicationOfPart('TypeChecking', 'The result of checking the types of all expressions.'),
        },
      ),
      'The result of checking the types of all expressions. Present once it was done.',
    ),
    conditions: field(3, list(condition, { key: 'type' }), 'Aspects of the current state of the policy.'),
  },
  {
    publication: publicationOfPart('ValidatingAdmissionPolicyStatus', 'Current state of a policy.'),
  },
);

const fields = {
  spec: field(2, specSchema, 'Rules of the policy and the requests they apply to.', 'always'),
  status: field(3, statusSchema, 'Current state of the policy.', 'always'),
};

export type ValidatingAdmissionPolicy = ObjectOf<typeof fields>;

export const validatingAdmissionPolicy = defineKind({
  ...admissionKind,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  description: 'Rules in CEL that accept or reject objects without changing them. A binding enforces them.',
  fields,
  parts: [
    {
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      fields: ['status'],
      givenOnCreate: false,
      keepsMetadata: true,
    },
  ],
  defaults: (policy) => ({ ...policy, spec: withPolicyDefaults(policy.spec) }),
  prepare: countingChangesOf('spec'),
  // Other writes keep the status as it is, and it may have been written before there were these rules.
  validate: ({ status }, current) => (sameJson(status, current?.status) ? [] : statusErrors(status)),
  validateInSteps: validateChangesOf('spec', policyErrors),
  columns: [
    nameColumn,
    {
      name: 'Validations',
      description: 'Number of validations.',
      type: 'integer',
      value: ({ spec: { validations = [] } }) => validations.length,
    },
    paramKindColumn,
    ageColumn,
  ],
});

const auditAnnotationsMax = 20;

function* policyErrors({ spec, metadata }: ValidatingAdmissionPolicy): SyncTask<FieldError[]> {
  const { validations = [], auditAnnotations = [], variables = [] } = spec;
  const errors = new FieldErrors();
  const check = yield* expressionChecker({ hasParams: spec.paramKind !== undefined, variables });
  yield* addPolicyErrors(errors, spec, check);
  addVariableErrors(errors, variables, check);
  if (validations.length === 0 && auditAnnotations.length === 0)
    for (const name of ['validations', 'auditAnnotations'])
      errors.add(() => required(`spec.${name}`, 'validations or auditAnnotations must contain at least one item'));
  for (const [index, validation] of validations.entries()) {
    addValidationErrors(errors, `spec.validations[${index}]`, validation, check);
    yield;
  }
  if (auditAnnotations.length > auditAnnotationsMax)
    errors.add(() =>
      invalidValue(
        'spec.auditAnnotations',
        auditAnnotations,
        `must not have more than ${auditAnnotationsMax} auditAnnotations`,
      ),
    );
  const seen = new Set<string>();
  for (const [index, annotation] of auditAnnotations.entries()) {
    const at = `spec.auditAnnotations[${index}]`;
    addAuditAnnotationErrors(errors, at, annotation, metadata.name ?? '', check);
    if (seen.has(annotation.key)) errors.add(() => duplicate(`${at}.key`, annotation.key));
    seen.add(annotation.key);
    yield;
  }
  return errors.all;
}

const reasons: readonly Reason[] = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

/** The reason of a failed validation by its name; undefined if a validation cannot have it. */
export const findValidationReason = (name: string | undefined): Reason | undefined =>
  reasons.find((reason) => reason === name);

function addValidationErrors(
  errors: FieldErrors,
  at: string,
  { expression, message = '', reason, messageExpression = '' }: Validation,
  check: ExpressionChecker,
): void {
  if (expression.trim() === '') errors.add(() => required(`${at}.expression`, 'expression is not specified'));
  else errors.addAll(check.validation(expression), (fault) => invalidValue(`${at}.expression`, expression, fault));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.add(() => invalidValue(`${at}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  else if (messageExpression !== '')
    errors.addAll(check.message(messageExpression), (fault) =>
      invalidValue(`${at}.messageExpression`, messageExpression, fault),
    );
  if (message !== '' && message.trim() === '')
    errors.add(() => invalidValue(`${at}.message`, message, 'must be non-empty if specified'));
  else if (/[\n\r]/.test(message.trim()))
    errors.add(() => invalidValue(`${at}.message`, message, 'must not contain line breaks'));
  if (reason !== undefined && findValidationReason(reason) === undefined)
    errors.add(() => notSupported(`${at}.reason`, reason, reasons));
}

const valueExpressionBytesMax = 5 * 1024;

function addAuditAnnotationErrors(
  errors: FieldErrors,
  at: string,
  { key, valueExpression }: AuditAnnotation,
  policyName: string,
  check: ExpressionChecker,
): void {
  const whole = `${policyName}/${key}`;
  if (policyName === '') errors.add(() => invalidValue(`${at}.key`, key, 'requires metadata.name be non-empty'));
  else errors.addAll(qualifiedName(whole), (problem) => invalidValue(`${at}.key`, whole, problem));
  const trimmed = valueExpression.trim();
  if (trimmed === '') errors.add(() => required(`${at}.valueExpression`, 'valueExpression is not specified'));
  else if (Buffer.byteLength(trimmed) > valueExpressionBytesMax)
    errors.add(() => required(`${at}.valueExpression`, `must not exceed ${valueExpressionBytesMax} bytes in length`));
  else
    errors.addAll(check.auditAnnotation(trimmed), (fault) =>
      invalidValue(`${at}.valueExpression`, valueExpression, fault),
    );
}

function statusErrors({ typeChecking, conditions = [] }: ValidatingAdmissionPolicy['status']): FieldError[] {
  const errors = new FieldErrors();
  for (const [index, { fieldRef, warning }] of (typeChecking?.expressionWarnings ?? []).entries()) {
    const at = `status.typeChecking.expressionWarnings[${index}]`;
    if (warning === '') errors.add(() => required(`${at}.warning`));
    if (fieldRef.trim() === '') errors.add(() => required(`${at}.fieldRef`));
  }
  addConditionErrors(errors, 'status.conditions', conditions);
  return errors.all;
}
