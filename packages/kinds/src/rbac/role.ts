import { defineKind, type ObjectOf, undeclaredColumns } from '@cluster-apiserver/model/kind';
import { field } from '@cluster-apiserver/model/schema';
import { policyRules, validatePolicyRules } from './policy-rule.ts';
import { rbacKind } from './rbac.ts';

const fields = { rules: field(2, policyRules, 'Permissions that the role contains.', 'nullIfEmpty') };

export type Role = ObjectOf<typeof fields>;

/** Permissions in one namespace. */
export const role = defineKind({
  ...rbacKind,
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  description:
    'A set of permissions in one namespace. A RoleBinding grants them to users, groups and service accounts.',
  fields,
  validate: ({ rules }, _, problems) => validatePolicyRules(rules ?? [], true, problems),
  columns: undeclaredColumns,
});
