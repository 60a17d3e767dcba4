import { type ApiVersion, compareVersions, type Review, type Verb } from '@cluster-apiserver/model/kind';
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

/**
 * Groups and versions of the server in the order of their declaration, and then those that clients have defined by their
 * names; kinds by their plural.
 */
export function listServedGroups(kinds: readonly (ApiVersion | Review)[]): readonly ServedGroup[] {
  const groups = [...Map.groupBy(kinds, ({ group }) => group)];
  const isCustom = ([, ofGroup]: (typeof groups)[number]): boolean => ofGroup.every((kind) => kind.isCustom);
  const custom = groups.filter(isCustom).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return [
    ...groups.filter((group) => !isCustom(group)).map(([name, ofGroup]) => groupOf(name, ofGroup)),
    ...custom.map(([name, ofGroup]) =>
      groupOf(
        name,
        ofGroup.toSorted((left, right) => compareVersions(left.version, right.version)),
      ),
    ),
  ];
}

const groupOf = (name: string, ofGroup: readonly (ApiVersion | Review)[]): ServedGroup => ({
  name,
  versions: [...Map.groupBy(ofGroup, ({ version }) => version)].map(([version, ofVersion]) => ({
    version,
    groupVersion: name ? `${name}/${version}` : version,
    kinds: ofVersion.toSorted((left, right) => (left.plural < right.plural ? -1 : 1)),
  })),
});

/** A resource, or a subresource of it, as both forms of discovery list it. */
export interface ServedResource {
  /** Undefined for the resource itself. */
  readonly subresource: string | undefined;
  /** What its endpoints receive and return. */
  readonly target: GroupVersionKind;
  readonly verbs: readonly string[];
}

/** The resource itself first. */
export const listServedResources = (kind: ApiVersion | Review): readonly ServedResource[] =>
  [...Map.groupBy(endpointsOf(kind), ({ subresource }) => subresource)].map(([subresource, endpoints]) => ({
    subresource,
    target: endpoints[0]?.target ?? kind,
    verbs: verbsShown(kind, new Set(endpoints.flatMap(({ verbs }) => verbs)), subresource),
  }));

/** In alphabetical order, or in that in which kube-apiserver lists those of custom kinds. */
function verbsShown(
  { isCustom, isTerminating }: ApiVersion | Review,
  verbs: ReadonlySet<Verb>,
  subresource: string | undefined,
): readonly Verb[] {
  if (!isCustom) return [...verbs].sort();
  const order = subresource === undefined && isTerminating ? verbsAtEnd : customVerbs;
  return order.filter((verb) => verbs.has(verb));
}

const customVerbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const verbsAtEnd: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];
