import { isOfKubernetes } from '../kind/kubernetes-groups.ts';
import type { GroupVersionKind } from './group-version-kind.ts';
import type { Publication } from './schema.ts';

/** How the form of a kind is published. */
export const publicationOf = (
  kind: GroupVersionKind,
  description: string,
  required: readonly string[] = [],
): Publication => ({ name: publishedName(kind), description, required, groupVersionKind: kind });

/** How a form that belongs to all groups is published. */
export const sharedPublication = (kind: string, description: string): Publication => ({
  name: `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`,
  description,
});

/**
 * Groups of Kubernetes have the names that its own documents give them, such as `rbac` for rbac.authorization.k8s.io;
 * any other group is read backwards, as the documents of custom resources have it.
 */
export function publishedName({ group, version, kind }: GroupVersionKind): string {
  const parts = group.split('.');
  const home = isOfKubernetes(group) ? `io.k8s.api.${parts[0] || 'core'}` : parts.toReversed().join('.');
  return `${home}.${version}.${kind}`;
}
