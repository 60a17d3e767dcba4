import type { MatchResources, NamedRuleWithOperations } from '@cluster-apiserver/kinds';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import { matcherOfField } from '@cluster-apiserver/model/selector';
import type { LabelSelectorField } from '@cluster-apiserver/model/validation';
import type { PolicyRequest } from './request.ts';

/** The resource by which a request matches; objects are converted to its version. Undefined if it does not match. */
export type Matches = (request: PolicyRequest) => ServedKind | undefined;

/** Compiled match criteria. */
export interface Matcher {
  readonly matches: Matches;
  /**
   * False if no request to the same resource and subresource, with the same operation and scope, matches, whatever its
   * object, names and namespace.
   */
  readonly canMatch: (request: PolicyRequest) => boolean;
}

/** Matches nothing. */
export const noMatcher: Matcher = { matches: () => undefined, canMatch: () => false };

/** Compiles match criteria. Without rules every request matches. */
export function createMatcher(match: MatchResources | undefined): Matcher {
  if (!match) return { matches: (request) => request.context.resource, canMatch: () => true };
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  const { namespaceSelector = {} } = match;
  const matchesNamespace = matcherOfField(namespaceSelector);
  const selectsAllNamespaces = isEmpty(namespaceSelector);
  const { objectSelector = {} } = match;
  const matchesObject = matcherOfField(objectSelector);
  // An empty selector also matches a request without any object, which has no labels.
  const selectsAll = isEmpty(objectSelector);
  const isEquivalent = matchPolicy === 'Equivalent';
  const rulesOfAllNames = resourceRules.map((rule) => ({ ...rule, resourceNames: [] }));
  const excludesOfAllNames = excludeResourceRules.filter(({ resourceNames = [] }) => resourceNames.length === 0);
  return {
    matches: (request) => {
      const found = findMatchedResource(resourceRules, isEquivalent, request);
      if (!found || isExcluded(excludeResourceRules, isEquivalent, request)) return undefined;
      const namespaceLabels = selectsAllNamespaces ? undefined : request.namespaceLabels;
      if (namespaceLabels && !matchesNamespace(namespaceLabels)) return undefined;
      return selectsAll || request.objectLabels.some(matchesObject) ? found : undefined;
    },
    canMatch: (request) =>
      findMatchedResource(rulesOfAllNames, isEquivalent, request) !== undefined &&
      !isExcluded(excludesOfAllNames, isEquivalent, request),
  };
}

const isEmpty = ({ matchLabels, matchExpressions }: LabelSelectorField): boolean => !matchLabels && !matchExpressions;

const findMatchedResource = (
  rules: readonly NamedRuleWithOperations[],
  isEquivalent: boolean,
  request: PolicyRequest,
): ServedKind | undefined =>
  rules.length === 0 ? request.context.resource : findResourceOfRules(rules, isEquivalent, request);

const isExcluded = (
  rules: readonly NamedRuleWithOperations[],
  isEquivalent: boolean,
  request: PolicyRequest,
): boolean => findResourceOfRules(rules, isEquivalent, request) !== undefined;

function findResourceOfRules(
  rules: readonly NamedRuleWithOperations[],
  isEquivalent: boolean,
  request: PolicyRequest,
): ServedKind | undefined {
  const { resource } = request.context;
  const matchesAs = (as: ServedKind): boolean => rules.some((rule) => matchesRule(rule, as, request));
  if (matchesAs(resource)) return resource;
  return isEquivalent ? request.equivalents.find(matchesAs) : undefined;
}

function matchesRule(
  rule: NamedRuleWithOperations,
  resource: ServedKind,
  { context, isNamespace }: PolicyRequest,
): boolean {
  const { operations, apiGroups, apiVersions, resources = [], scope = '*', resourceNames = [] } = rule;
  const { namespace, subresource, operation, name } = context;
  return (
    includes(operations, operation) &&
    includes(apiGroups, resource.group) &&
    includes(apiVersions, resource.version) &&
    resources.some((pattern) => matchesResource(pattern, resource.plural, subresource)) &&
    // Namespaces are cluster-scoped.
    (scope === '*' || (scope === 'Namespaced') === (namespace !== undefined && !isNamespace)) &&
    (resourceNames.length === 0 || resourceNames.includes(name ?? ''))
  );
}

const includes = (words: readonly string[] = [], word: string): boolean => words.includes('*') || words.includes(word);

function matchesResource(pattern: string, plural: string, subresource = ''): boolean {
  const slash = pattern.indexOf('/');
  const resource = slash < 0 ? pattern : pattern.slice(0, slash);
  const part = slash < 0 ? '' : pattern.slice(slash + 1);
  return (resource === '*' || resource === plural) && (part === subresource || (part === '*' && slash > 0));
}
