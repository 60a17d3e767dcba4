import type { KubeObject, ObjectMeta } from '../object.ts';
import { listMeta, objectMeta, typeMeta } from '../../schema/common.ts';
import { field, list, object } from '../../schema/schema.ts';

/** The versions of `meta.k8s.io` in which clients can request tables and partial objects. */
export type MetaVersion = 'v1' | 'v1beta1';

export const metaApiVersion = (version: MetaVersion): string => `meta.k8s.io/${version}`;

/** The metadata of a list. */
export interface ListMetadata {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly shardInfo?: { readonly selector: string };
}

export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

export const partialMetadataSchema = object(
  { ...typeMeta, metadata: field(1, objectMeta, "Standard object's metadata.", 'always') },
  {},
);

export const partialMetadataListSchema = object(
  {
    ...typeMeta,
    metadata: field(1, listMeta, 'Standard list metadata.', 'always'),
    items: field(2, list(partialMetadataSchema, 'atomic'), 'The metadata of the objects.', 'always'),
  },
  {},
);

/** Only the metadata of an object. */
export const partialObjectMetadata = ({ metadata }: KubeObject, version: MetaVersion): PartialObjectMetadata => ({
  kind: 'PartialObjectMetadata',
  apiVersion: metaApiVersion(version),
  metadata,
});

export interface PartialObjectMetadataList {
  readonly kind: 'PartialObjectMetadataList';
  readonly apiVersion: string;
  readonly metadata: ListMetadata;
  readonly items: readonly PartialObjectMetadata[];
}

/** Items name their kind, unlike those of other lists: there it is not the kind of the objects. */
export const partialObjectMetadataList = (
  objects: readonly KubeObject[],
  metadata: ListMetadata,
  version: MetaVersion,
): PartialObjectMetadataList => ({
  kind: 'PartialObjectMetadataList',
  apiVersion: metaApiVersion(version),
  metadata,
  items: objects.map((item) => partialObjectMetadata(item, version)),
});
