import type { ServedKind } from '@cluster-apiserver/model';

/** What is served, in the order in which discovery tells it. */
export interface ServedGroup<K extends ServedKind = ServedKind> {
  readonly name: string;
  /** The first is preferred. */
  readonly versions: readonly ServedVersion<K>[];
}
export interface ServedVersion<K extends ServedKind = ServedKind> {
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly groupVersion: string;
  readonly kinds: readonly K[];
}

/** Groups and versions in the order of their declaration, kinds by their name. */
export function servedGroups<K extends ServedKind>(kinds: readonly K[]): readonly ServedGroup<K>[] {
  return [...Map.groupBy(kinds, ({ group }) => group)].map(([name, ofGroup]) => ({
    name,
    versions: [...Map.groupBy(ofGroup, ({ version }) => version)].map(([version, ofVersion]) => ({
      version,
      groupVersion: name ? `${name}/${version}` : version,
      kinds: ofVersion.toSorted((left, right) => (left.plural < right.plural ? -1 : 1)),
    })),
  }));
}
