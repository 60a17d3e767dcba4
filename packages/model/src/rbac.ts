/** Roles and bindings, as far as authorization reads them. */

/** Verbs on resources, or on URL paths that are no resources. */
export interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A subject that a role is granted to. */
export interface RbacSubject {
  /** User, Group or ServiceAccount. */
  readonly kind: string;
  readonly apiGroup?: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface RoleRef {
  readonly apiGroup: string;
  /** Role or ClusterRole. */
  readonly kind: string;
  readonly name: string;
}

export const rbacGroup = 'rbac.authorization.k8s.io';
