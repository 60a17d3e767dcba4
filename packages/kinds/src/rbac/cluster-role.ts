import type { Problems } from '@cluster-apiserver/model';
import { defineKind, type ObjectOf, undeclaredColumns } from '@cluster-apiserver/model/kind';
import { field, labelSelector, list, object, publicationOf, type ValueOf } from '@cluster-apiserver/model/schema';
import { validateLabelSelector } from '@cluster-apiserver/model/validation';
import { policyRules, validatePolicyRules } from './policy-rule.ts';
import { clusterScoped, rbac, rbacKind } from './rbac.ts';

const aggregationRuleSchema = object(
  {
    clusterRoleSelectors: field(
      1,
      list(labelSelector, 'atomic'),
      'Label selectors of ClusterRoles. The rules of every ClusterRole that matches at least one of them are included.',
    ),
  },
  {
    publication: publicationOf(
      { ...rbac, kind: 'AggregationRule' },
      'Selects the ClusterRoles whose rules a ClusterRole combines.',
    ),
  },
);

export type AggregationRule = ValueOf<typeof aggregationRuleSchema>;

const fields = {
  rules: field(2, policyRules, 'Permissions that the role contains.', 'nullIfEmpty'),
  aggregationRule: field(
    3,
    aggregationRuleSchema,
    'Makes the server fill in the rules from other ClusterRoles; it overwrites rules that are set by hand.',
  ),
};

export type ClusterRole = ObjectOf<typeof fields>;

/** Permissions in all namespaces, on cluster-scoped resources and on URL paths. */
export const clusterRole = defineKind({
  ...rbacKind,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  singular: 'clusterrole',
  ...clusterScoped,
  description:
    'A cluster-scoped set of permissions. A ClusterRoleBinding grants them everywhere, a RoleBinding in its own namespace.',
  fields,
  validate: ({ rules, aggregationRule }, _, problems) => {
    validatePolicyRules(rules ?? [], false, problems);
    if (aggregationRule) validateAggregation(aggregationRule, problems.at('aggregationRule', 'clusterRoleSelectors'));
  },
  columns: undeclaredColumns,
});

function validateAggregation({ clusterRoleSelectors: selectors = [] }: AggregationRule, problems: Problems): void {
  if (selectors.length === 0)
    problems.required('at least one clusterRoleSelector required if aggregationRule is non-nil');
  problems.each(selectors, (selector, at) => {
    const before = problems.count;
    validateLabelSelector(selector, at);
    if (problems.count > before) at.invalid(null, 'invalid label selector.');
  });
}
