import { defineKind } from '@cluster-apiserver/model/kind';
import { type Binding, bindingKind, validateBinding } from './binding.ts';
import { rbacKind } from './rbac.ts';

export type RoleBinding = Binding;

/** Grants a role in one namespace. */
export const roleBinding = defineKind({
  ...rbacKind,
  ...bindingKind,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  singular: 'rolebinding',
  description:
    'Grants the permissions of a Role in the same namespace, or of a ClusterRole, to users, groups and service accounts. The permissions apply in the namespace of the binding only.',
  validate: validateBinding({ roleKinds: ['Role', 'ClusterRole'], namespaced: true }),
});
