import { pathSegment } from '@cluster-apiserver/model/validation';

/** The group of the four kinds, and the apiGroup of subjects and role references. */
export const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };

/** Unlike namespaces, these can be selected by their namespace, which is empty. */
export const clusterScoped = { namespaced: false, selectableFields: { 'metadata.namespace': () => '' } };

/** The shared part of the four declarations. */
export const rbacKind = {
  ...rbac,
  // A name may be like `system:monitoring`. A prefix is checked like a whole name.
  names: { whole: pathSegment, prefix: pathSegment },
  createOnUpdate: true,
} as const;
