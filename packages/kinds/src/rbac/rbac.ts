import { pathSegment } from '@cluster-apiserver/model';

/** The group of the four kinds, and what subjects and role references of it name as their apiGroup. */
export const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };

/** Unlike namespaces, these can be selected by their namespace, which is empty. */
export const clusterScoped = { namespaced: false, selectableFields: { 'metadata.namespace': () => '' } };

/** What the four kinds have in common. */
export const rbacKind = {
  ...rbac,
  shortNames: [],
  // A name may be like `system:monitoring`. A prefix is checked like a whole name.
  names: { whole: pathSegment, prefix: pathSegment },
  qualifiedFinalizers: true,
  createOnReplace: true,
  ownsOthers: true,
  deletedAnswer: 'status',
  subresources: [],
  unknownSelectorField: (name: string) =>
    `"${name}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
} as const;
