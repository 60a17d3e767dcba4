import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems, Reason } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, int64, list, object, string, withNumber, type ValueOf } from '@cluster-apiserver/model/schema';
import { qualifiedName } from '@cluster-apiserver/model/validation';
import { admissionKind, publicationOfPart, validateChangesOf, unservedVersions } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { condition, validateConditions } from './conditions.ts';
import { type ExpressionChecker, expressionChecker } from './expressions.ts';
import { failurePolicy } from './choices.ts';
import { matchConditionsField } from './match-conditions.ts';
import { paramKindColumn, policyFields, validatePolicy, validateVariables, withPolicyDefaults } from './policy.ts';

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
    conditions: field(3, list(condition, { keys: ['type'] }), 'Aspects of the current state of the policy.'),
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
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Rules in CEL that accept or reject objects without changing them. A binding enforces them.',
  fields,
  otherVersions: unservedVersions(fields),
  fieldSubresources: [
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
  validate: ({ status }, current, problems) => {
    if (!sameJson(status, current?.status)) validateStatus(status, problems.at('status'));
  },
  validateInSteps: validateChangesOf('spec', validateSpec),
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

function* validateSpec({ spec, metadata }: ValidatingAdmissionPolicy, problems: Problems): SyncTask<void> {
  const { validations = [], auditAnnotations = [], variables = [] } = spec;
  const at = problems.at('spec');
  const check = yield* expressionChecker({ hasParams: spec.paramKind !== undefined, variables });
  yield* validatePolicy(spec, check, at);
  validateVariables(variables, check, at.at('variables'));
  if (validations.length === 0 && auditAnnotations.length === 0)
    for (const name of ['validations', 'auditAnnotations'])
      at.at(name).required('validations or auditAnnotations must contain at least one item');
  for (const [index, validation] of validations.entries()) {
    validateValidation(validation, check, at.at('validations', index));
    yield;
  }
  const ofAnnotations = at.at('auditAnnotations');
  if (auditAnnotations.length > auditAnnotationsMax)
    ofAnnotations.invalid(auditAnnotations, `must not have more than ${auditAnnotationsMax} auditAnnotations`);
  const seen = new Set<string>();
  for (const [index, annotation] of auditAnnotations.entries()) {
    validateAuditAnnotation(annotation, metadata.name ?? '', check, ofAnnotations.at(index));
    if (seen.has(annotation.key)) ofAnnotations.at(index, 'key').duplicate(annotation.key);
    seen.add(annotation.key);
    yield;
  }
}

const reasons: readonly Reason[] = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

/** The reason of a failed validation by its name; undefined if a validation cannot have it. */
export const findValidationReason = (name: string | undefined): Reason | undefined =>
  reasons.find((reason) => reason === name);

function validateValidation(
  { expression, message = '', reason, messageExpression = '' }: Validation,
  check: ExpressionChecker,
  problems: Problems,
): void {
  const notEmpty = 'must be non-empty if specified';
  if (expression.trim() === '') problems.at('expression').required('expression is not specified');
  else problems.at('expression').check(check.validation, expression);
  if (messageExpression !== '') {
    const at = problems.at('messageExpression');
    if (messageExpression.trim() === '') at.invalid(messageExpression, notEmpty);
    else at.check(check.message, messageExpression);
  }
  if (message !== '' && message.trim() === '') problems.at('message').invalid(message, notEmpty);
  else if (/[\n\r]/.test(message.trim())) problems.at('message').invalid(message, 'must not contain line breaks');
  problems.at('reason').oneOf(reason, reasons);
}

const valueExpressionBytesMax = 5 * 1024;

function validateAuditAnnotation(
  { key, valueExpression }: AuditAnnotation,
  policyName: string,
  check: ExpressionChecker,
  problems: Problems,
): void {
  if (policyName === '') problems.at('key').invalid(key, 'requires metadata.name be non-empty');
  else problems.at('key').check(qualifiedName, `${policyName}/${key}`);
  const at = problems.at('valueExpression');
  const trimmed = valueExpression.trim();
  if (trimmed === '') at.required('valueExpression is not specified');
  else if (Buffer.byteLength(trimmed) > valueExpressionBytesMax)
    at.required(`must not exceed ${valueExpressionBytesMax} bytes in length`);
  else at.check(() => check.auditAnnotation(trimmed), valueExpression);
}

function validateStatus(
  { typeChecking, conditions = [] }: ValidatingAdmissionPolicy['status'],
  problems: Problems,
): void {
  const ofWarnings = problems.at('typeChecking', 'expressionWarnings');
  ofWarnings.each(typeChecking?.expressionWarnings ?? [], ({ fieldRef, warning }, at) => {
    if (warning === '') at.at('warning').required();
    if (fieldRef.trim() === '') at.at('fieldRef').required();
  });
  validateConditions(conditions, problems.at('conditions'));
}
