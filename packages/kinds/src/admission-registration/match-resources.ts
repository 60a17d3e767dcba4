import {
  field,
  jsonField,
  FieldErrors,
  type FieldError,
  labelSelector,
  labelSelectorErrors,
  list,
  notSupported,
  object,
  required,
  string,
  withNumber,
  type FieldValues,
  type ValueOf,
} from '@cluster-apiserver/model';
import { publicationOfPart } from './admission-registration.ts';
import { addNamedRuleErrors, namedRuleWithOperations, withScopes } from './rules.ts';

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

/** What is wrong with the selectors of a webhook or policy. */
export const selectorErrors = (
  at: string,
  { namespaceSelector, objectSelector, matchPolicy }: Selectors,
): FieldError[] => [
  ...(matchPolicy === undefined || matchPolicies.includes(matchPolicy)
    ? []
    : [notSupported(`${at}.matchPolicy`, matchPolicy, matchPolicies)]),
  ...(namespaceSelector ? labelSelectorErrors(`${at}.namespaceSelector`, namespaceSelector) : []),
  ...(objectSelector ? labelSelectorErrors(`${at}.objectSelector`, objectSelector) : []),
];

const matchPolicies = ['Equivalent', 'Exact'];

/** Those of a policy have to name resources; those of a binding only narrow them. */
export function matchErrors(
  at: string,
  match: MatchResources,
  { needsRules }: { readonly needsRules: boolean },
): FieldError[] {
  const { resourceRules = [], excludeResourceRules = [] } = match;
  const errors = new FieldErrors();
  for (const error of selectorErrors(at, match)) errors.add(() => error);
  if (needsRules && resourceRules.length === 0) errors.add(() => required(`${at}.resourceRules`));
  for (const [name, rules] of Object.entries({ resourceRules, excludeResourceRules }))
    for (const [index, rule] of rules.entries()) addNamedRuleErrors(errors, `${at}.${name}[${index}]`, rule);
  return errors.all;
}
