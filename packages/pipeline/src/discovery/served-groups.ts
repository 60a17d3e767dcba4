import type { Kind } from '@cluster-apiserver/model';

/** What is served, in the order in which discovery tells it. */
export interface ServedGroup {
  readonly name: string;
  /** The first is preferred. */
  readonly versions: readonly ServedVersion[];
}
export interface ServedVersion {
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly groupVersion: string;
  readonly kinds: readonly Kind[];
}

/** Groups and versions in the order of their declaration, kinds by their name. */
export function servedGroups(kinds: readonly Kind[]): readonly ServedGroup[] {
  return [...Map.groupBy(kinds, ({ group }) => group)].map(([name, ofGroup]) => ({
    name,
    versions: [...Map.groupBy(ofGroup, ({ version }) => version)].map(([version, ofVersion]) => ({
      version,
      groupVersion: name ? `${name}/${version}` : version,
      kinds: ofVersion.toSorted((left, right) => (left.plural < right.plural ? -1 : 1)),
    })),
  }));
}
