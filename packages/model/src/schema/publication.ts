import type { GroupVersionKind, Publication } from './schema.ts';

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
 * Groups of Kubernetes have the names that its own documents give them; any other group is read backwards, as the
 * documents of custom resources have it.
 */
export function publishedName({ group, version, kind }: GroupVersionKind): string {
  const own = group === '' ? 'core' : group.endsWith('.k8s.io') ? group.slice(0, -'.k8s.io'.length) : undefined;
  const home = own ? `io.k8s.api.${own}` : group.split('.').toReversed().join('.');
  return `${home}.${version}.${kind}`;
}
