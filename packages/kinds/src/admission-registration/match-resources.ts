import type { Problems } from '@cluster-apiserver/model';
import {
  field,
  jsonField,
  labelSelector,
  list,
  object,
  string,
  withNumber,
  type FieldValues,
  type ValueOf,
} from '@cluster-apiserver/model/schema';
import { validateLabelSelector } from '@cluster-apiserver/model/validation';
import { publicationOfPart } from './admission-registration.ts';
import { namedRuleWithOperations, validateNamedRule, withScopes } from './rules.ts';

export const selectorFields = {
  namespaceSelector: jsonField(
    labelSelector,
    'Selects the namespaces of the objects; a Namespace is selected by its own labels. Other cluster-scoped objects always match. Defaults to all namespaces.',
  ),
  objectSelector: jsonField(
    labelSelector,
    'Selects objects by their labels: the old or the new object must match. Users can omit labels, so use it for opt-in only. Defaults to all objects.',
  ),
  matchPolicy: jsonField(
    string,
    'Exact: a request matches only in a version that a rule names. Equivalent: also in other versions of the same resource. Defaults to Equivalent.',
    'given',
  ),
};

/** Selectors of requests besides rules. */
export type Selectors = FieldValues<typeof selectorFields>;

export const matchResourcesSchema = object(
  {
    namespaceSelector: withNumber(1, selectorFields.namespaceSelector),
    objectSelector: withNumber(2, selectorFields.objectSelector),
    resourceRules: field(
      3,
      list(namedRuleWithOperations, 'atomic'),
      'Operations on resources to match. At least one of the rules must match.',
    ),
    excludeResourceRules: field(
      4,
      list(namedRuleWithOperations, 'atomic'),
      'Operations on resources to exclude. They take precedence over resourceRules.',
    ),
    matchPolicy: withNumber(7, selectorFields.matchPolicy),
  },
  {
    atomic: true,
    publication: publicationOfPart(
      'MatchResources',
      'Selects requests by their resource, namespace and object. All of its members must match.',
    ),
  },
);

/** Selects the requests that a policy applies to. */
export type MatchResources = ValueOf<typeof matchResourcesSchema>;

/** Fills in defaults. */
export const withSelectors = <T extends Selectors>(selectors: T): T => ({
  ...selectors,
  namespaceSelector: selectors.namespaceSelector ?? {},
  objectSelector: selectors.objectSelector ?? {},
  matchPolicy: selectors.matchPolicy ?? 'Equivalent',
});

/** Fills in defaults. */
export function withMatchDefaults(match: MatchResources): MatchResources {
  const { resourceRules, excludeResourceRules } = match;
  return {
    ...withSelectors(match),
    ...(resourceRules && { resourceRules: withScopes(resourceRules) }),
    ...(excludeResourceRules && { excludeResourceRules: withScopes(excludeResourceRules) }),
  };
}

/** The selectors of a webhook or policy. */
export function validateSelectors(
  { namespaceSelector, objectSelector, matchPolicy }: Selectors,
  problems: Problems,
): void {
  problems.at('matchPolicy').oneOf(matchPolicy, matchPolicies);
  if (namespaceSelector) validateLabelSelector(namespaceSelector, problems.at('namespaceSelector'));
  if (objectSelector) validateLabelSelector(objectSelector, problems.at('objectSelector'));
}

const matchPolicies = ['Equivalent', 'Exact'];

/** What is deleted is not changed first. */
const mutatedOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** The operations of a mutating policy. */
export function validateMutatedOperations(match: MatchResources | undefined, problems: Problems): void {
  const at = problems.at('resourceRules', 'operations');
  for (const { operations = [] } of match?.resourceRules ?? [])
    for (const operation of operations) at.oneOf(operation, mutatedOperations);
}

/** Those of a policy have to name resources; those of a binding only narrow them. */
export function validateMatch(
  match: MatchResources,
  { needsRules }: { readonly needsRules: boolean },
  problems: Problems,
): void {
  const { resourceRules = [], excludeResourceRules = [] } = match;
  validateSelectors(match, problems);
  const at = problems.at('resourceRules');
  if (needsRules && resourceRules.length === 0) at.required();
  at.each(resourceRules, validateNamedRule);
  problems.at('excludeResourceRules').each(excludeResourceRules, validateNamedRule);
}
