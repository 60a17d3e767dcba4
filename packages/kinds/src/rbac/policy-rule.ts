import type { PolicyRule, Problems } from '@cluster-apiserver/model';
import { field, list, object, publicationOf, string } from '@cluster-apiserver/model/schema';
import { rbac } from './rbac.ts';

const policyRule = object(
  {
    verbs: field(1, list(string, 'atomic'), 'Verbs that are granted, such as get or create. * grants all verbs.'),
    apiGroups: field(
      2,
      list(string, 'atomic'),
      'API groups of the resources. The empty string is the core group; * matches all groups.',
    ),
    resources: field(
      3,
      list(string, 'atomic'),
      'Resources by their plural name, such as events, or with a subresource, such as serviceaccounts/token. * matches all resources.',
    ),
    resourceNames: field(
      4,
      list(string, 'atomic'),
      'Names of the objects that the rule is limited to. Empty means that the rule applies to all objects.',
    ),
    nonResourceURLs: field(
      5,
      list(string, 'atomic'),
      'URL paths that are no resources, such as /metrics. A final * matches any rest of the path. Allowed in ClusterRoles only, and effective only through a ClusterRoleBinding. A rule has either resources or nonResourceURLs.',
    ),
  },
  {
    publication: publicationOf(
      { ...rbac, kind: 'PolicyRule' },
      'Grants verbs on resources or on URL paths. Bindings name the subjects.',
      ['verbs'],
    ),
  },
);

export const policyRules = list(policyRule, 'atomic');

/** Validates the rules of a role. Only rules of ClusterRoles may grant URL paths. */
export function validatePolicyRules(rules: readonly PolicyRule[], namespaced: boolean, problems: Problems): void {
  problems.at('rules').each(rules, ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs = [] }, at) => {
    if (isEmpty(verbs)) at.at('verbs').required('verbs must contain at least one value');
    if (nonResourceURLs.length === 0) {
      if (isEmpty(apiGroups)) at.at('apiGroups').required('resource rules must supply at least one api group');
      if (isEmpty(resources)) at.at('resources').required('resource rules must supply at least one resource');
      return;
    }
    const urls = at.at('nonResourceURLs');
    if (namespaced) urls.invalid(nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    if (![apiGroups, resources, resourceNames].every(isEmpty))
      urls.invalid(nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
  });
}

const isEmpty = (values: readonly string[] | undefined): boolean => values === undefined || values.length === 0;
