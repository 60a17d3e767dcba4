import { defineKind } from '@cluster-apiserver/model/kind';
import { type Binding, bindingKind, validateBinding } from './binding.ts';
import { clusterScoped, rbacKind } from './rbac.ts';

export type ClusterRoleBinding = Binding;

/** Grants a role everywhere. */
export const clusterRoleBinding = defineKind({
  ...rbacKind,
  ...bindingKind,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  ...clusterScoped,
  description:
    'Grants the permissions of a ClusterRole to users, groups and service accounts: in all namespaces, on cluster-scoped resources and on URL paths.',
  validate: validateBinding({ roleKinds: ['ClusterRole'], namespaced: false }),
});
