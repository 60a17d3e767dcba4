import { createHash } from 'node:crypto';
import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { GroupVersionKind } from '@cluster-apiserver/model/schema';
import type { ProtobufForm } from '../non-resource/prepared-response.ts';
import { documentSchemas } from './protobuf.ts';
import { type ServedGroup, type ServedVersion, listServedResources } from './served-groups.ts';

/** Unaggregated discovery: versions, groups and resources in separate requests. */
export interface DiscoveryDocument {
  readonly kind: keyof typeof documentSchemas;
  /** Documents of the core group have none. */
  readonly apiVersion?: string;
  readonly resources?: readonly ListedResource[];
  readonly [member: string]: unknown;
}

interface ListedResource {
  readonly verbs: readonly string[];
}

/** Protobuf has verbs in a message of their own, and always an apiVersion. */
export function protobufFormOf(document: DiscoveryDocument): ProtobufForm {
  const { kind, apiVersion = '', resources } = document;
  const wrapped = resources?.map((resource) => ({ ...resource, verbs: { items: resource.verbs } }));
  return { schema: documentSchemas[kind], value: { ...document, apiVersion, resources: wrapped } };
}

export const formatCoreVersions = (core: ServedGroup | undefined): DiscoveryDocument => ({
  kind: 'APIVersions',
  versions: core?.versions.map(({ version }) => version) ?? [],
  // The address of this server depends on the client's network, which this server does not know.
  serverAddressByClientCIDRs: [],
});

export const formatGroupList = (groups: readonly ServedGroup[]): DiscoveryDocument => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map(groupFields),
});

export const formatGroup = (served: ServedGroup): DiscoveryDocument => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupFields(served),
});

function groupFields({ name, versions }: ServedGroup): object {
  const named = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: named, preferredVersion: named[0] };
}

export const formatResourceList = ({ groupVersion, version, kinds }: ServedVersion): DiscoveryDocument => ({
  kind: 'APIResourceList',
  // As in kube-apiserver, lists of the core group have no apiVersion.
  ...(groupVersion !== version && { apiVersion: 'v1' }),
  groupVersion,
  resources: kinds.flatMap(formatResources),
});

const formatResources = (kind: ApiVersion | Review): ListedResource[] =>
  listServedResources(kind).map(({ subresource, target, verbs }) =>
    subresource === undefined
      ? {
          name: kind.plural,
          singularName: kind.singular,
          namespaced: kind.namespaced,
          kind: kind.kind,
          verbs,
          ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
          ...(kind.categories && { categories: kind.categories }),
          ...(kind.storedAs && { storageVersionHash: storageVersionHash(kind.storedAs) }),
        }
      : {
          name: `${kind.plural}/${subresource}`,
          singularName: '',
          namespaced: kind.namespaced,
          // Omitted where they are those of the list.
          ...((target.group !== kind.group || target.version !== kind.version) && {
            group: target.group,
            version: target.version,
          }),
          kind: target.kind,
          verbs,
        },
  );

/** Changes with the version in which objects are stored, for storage migration. */
const storageVersionHash = ({ group, version, kind }: GroupVersionKind): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
