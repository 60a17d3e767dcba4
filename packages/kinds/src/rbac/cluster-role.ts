import {
  addLabelSelectorErrors,
  createdAtColumn,
  defineKind,
  type FieldErrors,
  field,
  invalidValue,
  labelSelector,
  list,
  nameColumn,
  object,
  publicationOf,
  required,
  type ObjectOf,
  type ValueOf,
} from '@cluster-apiserver/model';
import { policyRuleErrors, policyRules } from './policy-rule.ts';
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
  validate: ({ rules, aggregationRule }) => {
    const errors = policyRuleErrors(rules ?? [], { namespaced: false });
    if (aggregationRule) addAggregationErrors(errors, aggregationRule);
    return errors.all;
  },
  columns: [nameColumn, createdAtColumn],
});

const selectorsPath = 'aggregationRule.clusterRoleSelectors';

function addAggregationErrors(errors: FieldErrors, { clusterRoleSelectors: selectors = [] }: AggregationRule): void {
  if (selectors.length === 0)
    errors.add(() =>
      required(selectorsPath, 'at least one clusterRoleSelector required if aggregationRule is non-nil'),
    );
  for (const [index, selector] of selectors.entries()) {
    const at = `${selectorsPath}[${index}]`;
    const before = errors.count;
    addLabelSelectorErrors(errors, at, selector);
    if (errors.count > before) errors.add(() => invalidValue(at, null, 'invalid label selector.'));
  }
}
