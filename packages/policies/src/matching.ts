import type { MatchResources, NamedRuleWithOperations } from '@cluster-apiserver/kinds';
import { type LabelSelectorField, matcherOfField, type ServedKind } from '@cluster-apiserver/model';
import type { PolicyRequest } from './request.ts';

/** The resource by which a request matches; objects are converted to its version. Undefined if it does not match. */
export type Matches = (request: PolicyRequest) => ServedKind | undefined;

/** Compiles match criteria. Without rules every request matches. */
export function createMatcher(match: MatchResources | undefined): Matches {
  if (!match) return (request) => request.context.resource;
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match;
  const { namespaceSelector = {} } = match;
  const matchesNamespace = matcherOfField(namespaceSelector);
  const selectsAllNamespaces = isEmpty(namespaceSelector);
  const { objectSelector = {} } = match;
  const matchesObject = matcherOfField(objectSelector);
  // An empty selector also matches a request without any object, which has no labels.
  const selectsAll = isEmpty(objectSelector);
  const isEquivalent = matchPolicy === 'Equivalent';
  return (request) => {
    const found =
      resourceRules.length === 0 ? request.context.resource : findMatchedResource(resourceRules, isEquivalent, request);
    if (!found || findMatchedResource(excludeResourceRules, isEquivalent, request)) return undefined;
    const namespaceLabels = selectsAllNamespaces ? undefined : request.namespaceLabels;
    if (namespaceLabels && !matchesNamespace(namespaceLabels)) return undefined;
    return selectsAll || request.objectLabels.some(matchesObject) ? found : undefined;
  };
}

const isEmpty = ({ matchLabels, matchExpressions }: LabelSelectorField): boolean => !matchLabels && !matchExpressions;

function findMatchedResource(
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
