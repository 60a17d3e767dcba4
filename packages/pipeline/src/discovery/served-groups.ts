import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { GroupVersionKind } from '@cluster-apiserver/model/schema';
import { endpointsOf } from '../endpoints/endpoints.ts';

/** The groups and versions that are served, in the order in which discovery lists them. */
export interface ServedGroup {
  readonly name: string;
  /** The first is preferred. */
  readonly versions: readonly ServedVersion[];
}
export interface ServedVersion {
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly groupVersion: string;
  readonly kinds: readonly (ApiVersion | Review)[];
}

/** Groups and versions in the order of their declaration, kinds by their plural. */
export function listServedGroups(kinds: readonly (ApiVersion | Review)[]): readonly ServedGroup[] {
  return [...Map.groupBy(kinds, ({ group }) => group)].map(([name, ofGroup]) => ({
    name,
    versions: [...Map.groupBy(ofGroup, ({ version }) => version)].map(([version, ofVersion]) => ({
      version,
      groupVersion: name ? `${name}/${version}` : version,
      kinds: ofVersion.toSorted((left, right) => (left.plural < right.plural ? -1 : 1)),
    })),
  }));
}

/** A resource, or a subresource of it, as both forms of discovery list it. */
export interface ServedResource {
  /** Undefined for the resource itself. */
  readonly subresource: string | undefined;
  /** What its endpoints receive and return. */
  readonly target: GroupVersionKind;
  readonly verbs: readonly string[];
}

/** The resource itself first. Verbs are in alphabetical order. */
export const listServedResources = (kind: ApiVersion | Review): readonly ServedResource[] =>
  [...Map.groupBy(endpointsOf(kind), ({ subresource }) => subresource)].map(([subresource, endpoints]) => ({
    subresource,
    target: endpoints[0]?.target ?? kind,
    verbs: [...new Set(endpoints.flatMap(({ verbs }) => verbs))].sort(),
  }));
