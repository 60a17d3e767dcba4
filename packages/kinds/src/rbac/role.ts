import {
  createdAtColumn,
  defineKind,
  field,
  type KubeObject,
  nameColumn,
  type PolicyRule,
} from '@cluster-apiserver/model';
import { policyRuleErrors, policyRules } from './policy-rule.ts';
import { rbacKind } from './rbac.ts';

export interface Role extends KubeObject {
  rules: PolicyRule[] | null;
}

/** Permissions in one namespace. */
export const role = defineKind<Role>({
  ...rbacKind,
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  description:
    'A set of permissions in one namespace. A RoleBinding grants them to users, groups and service accounts.',
  fields: { rules: field(policyRules, 'Permissions that the role contains.', 'nullIfEmpty') },
  numbers: { rules: 2 },
  validate: ({ rules }) => policyRuleErrors(rules ?? [], { namespaced: true }).all,
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
});
