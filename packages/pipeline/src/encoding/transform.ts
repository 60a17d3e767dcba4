import type { TypeNames } from '@cluster-apiserver/model/codec';
import {
  type ApiVersion,
  type KubeObject,
  type ListMetadata,
  partialMetadataListSchema,
  partialMetadataSchema,
  partialObjectMetadata,
  partialObjectMetadataList,
  type EncodableKind,
  tableOf,
  undeclaredColumns,
} from '@cluster-apiserver/model/kind';
import type { ObjectSchema } from '@cluster-apiserver/model/schema';
import type { TableTransform, Transform } from './negotiate.ts';

/** Transforms one object. Only the first event of a watch has the columns of a table. */
export const transformObject = (
  kind: EncodableKind,
  object: KubeObject,
  transform: Transform,
  options: TableOfObjectOptions,
): object =>
  transform.as === 'Table'
    ? tableOfObject(kind, object, transform, options)
    : partialObjectMetadata(object, transform.version);

export interface TableOfObjectOptions {
  readonly nowMs: number;
  readonly namesColumns?: boolean;
}

export const tableOfObject = (
  kind: EncodableKind,
  object: KubeObject,
  transform: TableTransform,
  { nowMs, namesColumns = true }: TableOfObjectOptions,
): ReturnType<typeof tableOf> => tableOf(kind, [object], versionOf(object), { ...transform, namesColumns, nowMs });

const versionOf = ({ metadata: { resourceVersion } }: KubeObject): ListMetadata =>
  resourceVersion === undefined ? {} : { resourceVersion };

/** The schema of the transformed object, for protobuf. */
export const objectSchema = (kind: EncodableKind, transform: Transform | undefined): ObjectSchema =>
  transform ? partialMetadataSchema : kind.schema;

export const listSchema = (kind: ApiVersion, transform: Transform | undefined): ObjectSchema =>
  transform ? partialMetadataListSchema : kind.listSchema;

/** How a list is transformed: an empty list, and the items to fill in at its end. */
export interface ListTransform {
  readonly transform: Transform | undefined;
  readonly empty: TypeNames;
  readonly members: (objects: readonly KubeObject[]) => readonly object[];
  /** As in kube-apiserver, some lists without items have null instead of an empty list. */
  readonly isNullIfEmpty: boolean;
}

/** Items omit kind and apiVersion, which the list has. */
function withoutTypeNames(object: KubeObject): object {
  const { kind: _, apiVersion: __, ...rest } = object;
  return rest;
}

export function createListTransform(
  kind: ApiVersion,
  metadata: ListMetadata,
  transform: Transform | undefined,
  nowMs: number,
): ListTransform {
  if (!transform) {
    const empty = { kind: kind.listKind, apiVersion: kind.apiVersion, metadata, items: [] };
    return {
      transform,
      empty,
      isNullIfEmpty: false,
      members: kind.isCustom ? (objects) => objects : (objects) => objects.map(withoutTypeNames),
    };
  }
  if (transform.as === 'Table') {
    const table = (objects: readonly KubeObject[]): ReturnType<typeof tableOf> =>
      tableOf(kind, objects, metadata, { ...transform, namesColumns: true, nowMs });
    const isNullIfEmpty = kind.columns === undeclaredColumns;
    return { transform, empty: table([]), isNullIfEmpty, members: (objects) => table(objects).rows };
  }
  return {
    transform,
    empty: partialObjectMetadataList([], metadata, transform.version),
    isNullIfEmpty: true,
    members: (objects) => objects.map((object) => partialObjectMetadata(object, transform.version)),
  };
}
