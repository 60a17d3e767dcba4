import type { Problems } from '@cluster-apiserver/model';
import { ageColumn, type Column, type KubeObject, nameColumn } from '@cluster-apiserver/model/kind';
import { field, string, type FieldValues } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { matchResourcesSchema, validateMatch, withMatchDefaults } from './match-resources.ts';
import { type ParamRef, paramRefSchema, validateParamRef } from './params.ts';

export const bindingFields = {
  policyName: field(1, string, 'Name of the bound policy.'),
  paramRef: field(2, paramRefSchema, 'Objects that hold the parameters of the policy.'),
  matchResources: field(3, matchResourcesSchema, 'Narrows the requests that the policy applies to.'),
};

/** The shared part of the specs of bindings. */
export type BindingSpec = FieldValues<typeof bindingFields>;

/** Fills in defaults. */
export const withBindingDefaults = <T extends { spec: BindingSpec }>(binding: T): T => {
  const { matchResources } = binding.spec;
  return matchResources
    ? { ...binding, spec: { ...binding.spec, matchResources: withMatchDefaults(matchResources) } }
    : binding;
};

/** The shared part of the specs. */
export function validateBinding({ policyName = '', paramRef, matchResources }: BindingSpec, problems: Problems): void {
  if (policyName === '') problems.at('policyName').required();
  else problems.at('policyName').check(subdomainNames.whole, policyName);
  if (paramRef) validateParamRef(paramRef, problems.at('paramRef'));
  if (matchResources) validateMatch(matchResources, { needsRules: false }, problems.at('matchResources'));
}

export const bindingColumns: readonly Column<KubeObject & { spec: BindingSpec }>[] = [
  nameColumn,
  {
    name: 'PolicyName',
    description: 'Name of the bound policy.',
    value: ({ spec: { policyName = '' } }) => policyName,
  },
  {
    name: 'ParamRef',
    description: 'Namespace and name of the object that holds the parameters.',
    value: ({ spec: { paramRef } }) => paramRefCell(paramRef),
  },
  ageColumn,
];

function paramRefCell(ref: ParamRef | undefined): string {
  if (!ref) return '<unset>';
  const { namespace = '*', name = '' } = ref;
  return name === '' ? '<selector>' : `${namespace}/${name}`;
}
