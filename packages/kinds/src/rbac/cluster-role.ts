import {
  createdAtColumn,
  defineKind,
  type FieldError,
  field,
  invalidValue,
  type KubeObject,
  type LabelSelectorField,
  labelSelector,
  labelSelectorErrors,
  list,
  nameColumn,
  object,
  type PolicyRule,
  publicationOf,
  required,
} from '@cluster-apiserver/model';
import { policyRuleErrors, policyRules } from './policy-rule.ts';
import { clusterScoped, rbac, rbacKind } from './rbac.ts';

export interface ClusterRole extends KubeObject {
  rules: PolicyRule[] | null;
  aggregationRule?: AggregationRule;
}

export interface AggregationRule {
  clusterRoleSelectors?: LabelSelectorField[];
}

const aggregationRule = object(
  {
    clusterRoleSelectors: field(
      list(labelSelector, 'atomic'),
      'Label selectors of ClusterRoles. The rules of every ClusterRole that matches at least one of them are included.',
    ),
  },
  {
    publication: publicationOf(
      { ...rbac, kind: 'AggregationRule' },
      'Selects the ClusterRoles whose rules a ClusterRole combines.',
    ),
    numbers: { clusterRoleSelectors: 1 },
  },
);

/** Permissions in all namespaces, on cluster-scoped resources and on URL paths. */
export const clusterRole = defineKind<ClusterRole>({
  ...rbacKind,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  singular: 'clusterrole',
  ...clusterScoped,
  description:
    'A cluster-scoped set of permissions. A ClusterRoleBinding grants them everywhere, a RoleBinding in its own namespace.',
  fields: {
    rules: field(policyRules, 'Permissions that the role contains.', 'nullIfEmpty'),
    aggregationRule: field(
      aggregationRule,
      'Makes the server fill in the rules from other ClusterRoles; it overwrites rules that are set by hand.',
    ),
  },
  numbers: { rules: 2, aggregationRule: 3 },
  validate: ({ rules, aggregationRule }) => {
    const errors = policyRuleErrors(rules ?? [], { namespaced: false });
    for (const error of aggregationRule ? aggregationErrors(aggregationRule) : []) errors.add(() => error);
    return errors.all;
  },
  columns: [nameColumn, createdAtColumn],
});

const selectorsPath = 'aggregationRule.clusterRoleSelectors';

function aggregationErrors({ clusterRoleSelectors: selectors = [] }: AggregationRule): FieldError[] {
  if (selectors.length === 0)
    return [required(selectorsPath, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return selectors.flatMap((selector, index) => {
    const at = `${selectorsPath}[${index}]`;
    const errors = labelSelectorErrors(at, selector);
    return errors.length > 0 ? [...errors, invalidValue(at, null, 'invalid label selector.')] : [];
  });
}
