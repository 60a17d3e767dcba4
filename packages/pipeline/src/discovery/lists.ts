import type { ServedKind } from '@cluster-apiserver/model';
import type { ServedGroup, ServedVersion } from './served-groups.ts';

/** Discovery in pieces: the versions, the groups, and the resources of one of them, each by a request of its own. */

export const coreVersions = (core: ServedGroup | undefined): object => ({
  kind: 'APIVersions',
  versions: core?.versions.map(({ version }) => version) ?? [],
  // Under which address we are reached is known to the load balancer and to the client, and not to us.
  serverAddressByClientCIDRs: [],
});

export const groupList = (groups: readonly ServedGroup[]): object => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map(groupMembers),
});

export const group = (served: ServedGroup): object => ({ kind: 'APIGroup', apiVersion: 'v1', ...groupMembers(served) });

function groupMembers({ name, versions }: ServedGroup): object {
  const named = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: named, preferredVersion: named[0] };
}

export const resourceList = ({ groupVersion, version, kinds }: ServedVersion): object => ({
  kind: 'APIResourceList',
  // The lists of the core group are older than the member.
  ...(groupVersion !== version && { apiVersion: 'v1' }),
  groupVersion,
  resources: kinds.flatMap(resources),
});

const resources = ({ verbs, namespaced, subresourceForms, ...kind }: ServedKind): object[] => [
  {
    name: kind.plural,
    singularName: kind.singular,
    namespaced,
    kind: kind.kind,
    verbs,
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories && { categories: kind.categories }),
  },
  ...subresourceForms.map(({ name, group, version, kind: spoken, verbs }) => ({
    name: `${kind.plural}/${name}`,
    singularName: '',
    namespaced,
    // Said only where they are not those of the list.
    ...((group !== kind.group || version !== kind.version) && { group, version }),
    kind: spoken,
    verbs,
  })),
];
