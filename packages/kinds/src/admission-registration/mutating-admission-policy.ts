import type { SyncTask } from '@cluster-apiserver/base';
import {
  ageColumn,
  defineKind,
  type FieldError,
  FieldErrors,
  field,
  invalidValue,
  type KubeObject,
  list,
  nameColumn,
  notSupported,
  object,
  publicationOf,
  required,
  string,
} from '@cluster-apiserver/model';
import { admissionKind, admissionRegistration, countingChangesOf } from './admission-registration.ts';
import { type ExpressionChecker, expressionChecker } from './expressions.ts';
import { failurePolicy } from './failure-policy.ts';
import { matchConditions } from './match-conditions.ts';
import { mutatedOperationErrors } from './mutated-operations.ts';
import {
  addPolicyErrors,
  addVariableErrors,
  paramKindColumn,
  policyFields,
  type PolicySpec,
  withPolicyDefaults,
} from './policy.ts';
import { reinvocationPolicyErrors } from './reinvocation-policy.ts';

export interface MutatingAdmissionPolicy extends KubeObject {
  spec: MutatingPolicySpec;
}

export interface MutatingPolicySpec extends PolicySpec {
  mutations?: Mutation[];
  reinvocationPolicy?: string;
}

export interface Mutation {
  patchType: string;
  applyConfiguration?: { expression?: string };
  jsonPatch?: { expression?: string };
}

const publication = (kind: string, description: string, requiredFields: readonly string[] = []) =>
  publicationOf({ ...admissionRegistration, kind }, description, requiredFields);

const applyConfiguration = object(
  {
    expression: field(
      string,
      'CEL expression of an Object with the fields to set, which are merged into the object as by server-side apply.',
    ),
  },
  {
    numbers: { expression: 1 },
    publication: publication('ApplyConfiguration', 'Changes an object by an apply configuration.'),
  },
);

const jsonPatch = object(
  { expression: field(string, 'CEL expression of a list of JSONPatch operations.') },
  { numbers: { expression: 1 }, publication: publication('JSONPatch', 'Changes an object by a JSON patch.') },
);

const mutation = object(
  {
    patchType: field(string, 'ApplyConfiguration or JSONPatch.', 'always'),
    applyConfiguration: field(applyConfiguration, 'The change, if patchType is ApplyConfiguration.'),
    jsonPatch: field(jsonPatch, 'The change, if patchType is JSONPatch.'),
  },
  {
    numbers: { patchType: 2, applyConfiguration: 3, jsonPatch: 4 },
    publication: publication('Mutation', 'A change of the object of a request.', ['patchType']),
  },
);

const spec = object(
  {
    paramKind: policyFields.paramKind,
    matchConstraints: policyFields.matchConstraints,
    variables: policyFields.variables,
    mutations: field(list(mutation, 'atomic'), 'Changes, made in this order.'),
    failurePolicy,
    matchConditions,
    reinvocationPolicy: field(
      string,
      'Never: the policy runs once per binding. IfNeeded: it may run again if the object was changed after it.',
    ),
  },
  {
    numbers: {
      paramKind: 1,
      matchConstraints: 2,
      variables: 3,
      mutations: 4,
      failurePolicy: 5,
      matchConditions: 6,
      reinvocationPolicy: 7,
    },
    publication: publication('MutatingAdmissionPolicySpec', 'Mutations of a policy and the requests they apply to.'),
  },
);

export const mutatingAdmissionPolicy = defineKind<MutatingAdmissionPolicy>({
  ...admissionKind,
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  singular: 'mutatingadmissionpolicy',
  description: 'Rules in CEL that change objects before they are stored. A binding enforces them.',
  fields: { spec: field(spec, 'Mutations of the policy and the requests they apply to.', 'always') },
  numbers: { spec: 2 },
  defaults: (policy) => ({ ...policy, spec: withPolicyDefaults(policy.spec) }),
  prepare: countingChangesOf('spec'),
  validateInSteps: policyErrors,
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

function* policyErrors({ spec }: MutatingAdmissionPolicy): SyncTask<FieldError[]> {
  const { mutations = [], variables = [], matchConstraints, reinvocationPolicy = '' } = spec;
  const errors = new FieldErrors();
  const check = yield* expressionChecker({ hasParams: spec.paramKind !== undefined, variables });
  yield* addPolicyErrors(errors, spec, check);
  for (const error of mutatedOperationErrors('spec.matchConstraints', matchConstraints)) errors.add(() => error);
  addVariableErrors(errors, variables, check);
  if (mutations.length === 0) errors.add(() => required('spec.mutations', 'mutations must contain at least one item'));
  for (const [index, mutation] of mutations.entries()) {
    addMutationErrors(errors, `spec.mutations[${index}]`, mutation, check);
    yield;
  }
  if (reinvocationPolicy === '') errors.add(() => required('spec.reinvocationPolicy'));
  else
    for (const error of reinvocationPolicyErrors('spec.reinvocationPolicy', reinvocationPolicy))
      errors.add(() => error);
  return errors.all;
}

/** By patch type, where its expression stands. */
const members = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
type PatchType = keyof typeof members;
const patchTypes = Object.keys(members) as PatchType[];

function addMutationErrors(errors: FieldErrors, at: string, mutation: Mutation, check: ExpressionChecker): void {
  const { patchType } = mutation;
  if (patchType === '') return errors.add(() => required(`${at}.patchType`));
  const type = patchTypes.find((known) => known === patchType);
  if (!type) return errors.add(() => notSupported(`${at}.patchType`, patchType, patchTypes));
  for (const [other, member] of Object.entries(members)) {
    const given = mutation[member];
    if (other !== type) {
      if (given)
        errors.add(() =>
          invalidValue(`${at}.${member}`, `{${member}}`, `must not be specified when patchType is ${type}`),
        );
      continue;
    }
    if (!given) {
      errors.add(() => required(`${at}.${member}`, `must be specified when patchType is ${type}`));
      continue;
    }
    const expression = (given.expression ?? '').trim();
    const where = `${at}.${member}.expression`;
    if (expression === '') errors.add(() => required(where));
    else errors.addAll(check[member](expression), (fault) => invalidValue(where, expression, fault));
  }
}
