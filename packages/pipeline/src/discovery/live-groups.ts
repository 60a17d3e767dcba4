import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import { listServedGroups, type ServedGroup, type ServedVersion } from './served-groups.ts';

/** What is served now, in the order of its declaration. The list stays the same one until something changes. */
export type ServedKinds = () => readonly (ApiVersion | Review)[];

/**
 * The groups of what is served now. Whatever a change leaves as it is stays the same object, so that documents are kept by
 * the group or version that they describe.
 */
export function liveGroups(served: ServedKinds): () => readonly ServedGroup[] {
  let kinds: ReturnType<ServedKinds> = [];
  let groups: readonly ServedGroup[] = [];
  return () => {
    const now = served();
    if (now !== kinds) groups = keepUnchanged(groups, listServedGroups(now));
    kinds = now;
    return groups;
  };
}

function keepUnchanged(before: readonly ServedGroup[], now: readonly ServedGroup[]): readonly ServedGroup[] {
  const known = new Map(before.map((group) => [group.name, group]));
  return now.map((group) => {
    const old = known.get(group.name);
    if (!old) return group;
    const versions = group.versions.map((version) => unchangedVersion(old, version) ?? version);
    return areSame(versions, old.versions) ? old : { ...group, versions };
  });
}

function unchangedVersion({ versions }: ServedGroup, { version, kinds }: ServedVersion): ServedVersion | undefined {
  const old = versions.find((one) => one.version === version);
  return old && areSame(old.kinds, kinds) ? old : undefined;
}

const areSame = (some: readonly object[], others: readonly object[]): boolean =>
  some.length === others.length && some.every((one, at) => one === others[at]);
