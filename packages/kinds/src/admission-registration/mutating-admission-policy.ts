import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, string, withNumber, type ValueOf } from '@cluster-apiserver/model/schema';
import { admissionKind, publicationOfPart, validateChangesOf, unservedVersions } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { type ExpressionChecker, expressionChecker } from './expressions.ts';
import { failurePolicy, reinvocationPolicies } from './choices.ts';
import { matchConditionsField } from './match-conditions.ts';
import { validateMutatedOperations } from './match-resources.ts';
import { paramKindColumn, policyFields, validatePolicy, validateVariables, withPolicyDefaults } from './policy.ts';

const applyConfiguration = object(
  {
    expression: field(
      1,
      string,
      'CEL expression of an Object with the fields to set, which are merged into the object as by server-side apply.',
    ),
  },
  {
    publication: publicationOfPart('ApplyConfiguration', 'Changes an object by an apply configuration.'),
  },
);

const jsonPatch = object(
  { expression: field(1, string, 'CEL expression of a list of JSONPatch operations.') },
  { publication: publicationOfPart('JSONPatch', 'Changes an object by a JSON patch.') },
);

const mutationSchema = object(
  {
    patchType: field(2, string, 'ApplyConfiguration or JSONPatch.', 'always'),
    applyConfiguration: field(3, applyConfiguration, 'The change, if patchType is ApplyConfiguration.'),
    jsonPatch: field(4, jsonPatch, 'The change, if patchType is JSONPatch.'),
  },
  {
    publication: publicationOfPart('Mutation', 'A change of the object of a request.', ['patchType']),
  },
);

export type Mutation = ValueOf<typeof mutationSchema>;

const specSchema = object(
  {
    paramKind: withNumber(1, policyFields.paramKind),
    matchConstraints: withNumber(2, policyFields.matchConstraints),
    variables: withNumber(3, policyFields.variables),
    mutations: field(4, list(mutationSchema, 'atomic'), 'Changes, made in this order.'),
    failurePolicy: withNumber(5, failurePolicy),
    matchConditions: withNumber(6, matchConditionsField),
    reinvocationPolicy: field(
      7,
      string,
      'Never: the policy runs once per binding. IfNeeded: it may run again if the object was changed after it.',
    ),
  },
  {
    publication: publicationOfPart(
      'MutatingAdmissionPolicySpec',
      'Mutations of a policy and the requests they apply to.',
    ),
  },
);

const fields = { spec: field(2, specSchema, 'Mutations of the policy and the requests they apply to.', 'always') };

export type MutatingAdmissionPolicy = ObjectOf<typeof fields>;

export const mutatingAdmissionPolicy = defineKind({
  ...admissionKind,
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  singular: 'mutatingadmissionpolicy',
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Rules in CEL that change objects before they are stored. A binding enforces them.',
  fields,
  otherVersions: unservedVersions(fields),
  defaults: (policy) => ({ ...policy, spec: withPolicyDefaults(policy.spec) }),
  prepare: countingChangesOf('spec'),
  validateInSteps: validateChangesOf('spec', validateSpec),
  columns: [
    nameColumn,
    {
      name: 'Mutations',
      description: 'Number of mutations.',
      type: 'integer',
      value: ({ spec: { mutations = [] } }) => mutations.length,
    },
    paramKindColumn,
    ageColumn,
  ],
});

function* validateSpec({ spec }: MutatingAdmissionPolicy, problems: Problems): SyncTask<void> {
  const { mutations = [], variables = [], matchConstraints, reinvocationPolicy = '' } = spec;
  const at = problems.at('spec');
  const check = yield* expressionChecker({ hasParams: spec.paramKind !== undefined, variables });
  yield* validatePolicy(spec, check, at);
  validateMutatedOperations(matchConstraints, at.at('matchConstraints'));
  validateVariables(variables, check, at.at('variables'));
  if (mutations.length === 0) at.at('mutations').required('mutations must contain at least one item');
  for (const [index, mutation] of mutations.entries()) {
    validateMutation(mutation, check, at.at('mutations', index));
    yield;
  }
  if (reinvocationPolicy === '') at.at('reinvocationPolicy').required();
  else at.at('reinvocationPolicy').oneOf(reinvocationPolicy, reinvocationPolicies);
}

/** By patch type, the field of its expression. */
const members = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
type PatchType = keyof typeof members;
const patchTypes: readonly PatchType[] = ['ApplyConfiguration', 'JSONPatch'];

function validateMutation(mutation: Mutation, check: ExpressionChecker, problems: Problems): void {
  const { patchType } = mutation;
  if (patchType === '') return void problems.at('patchType').required();
  const type = patchTypes.find((known) => known === patchType);
  if (!type) return void problems.at('patchType').notSupported(patchType, patchTypes);
  for (const [other, member] of Object.entries(members)) {
    const given = mutation[member];
    const at = problems.at(member);
    if (other !== type) {
      if (given) at.invalid(`{${member}}`, `must not be specified when patchType is ${type}`);
    } else if (!given) at.required(`must be specified when patchType is ${type}`);
    else {
      const expression = (given.expression ?? '').trim();
      if (expression === '') at.at('expression').required();
      else at.at('expression').check(check[member], expression);
    }
  }
}
