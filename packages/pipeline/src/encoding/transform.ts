import {
  type Kind,
  type KubeObject,
  type ListMetadata,
  type ObjectSchema,
  partialMetadataListSchema,
  partialMetadataSchema,
  partialObjectMetadata,
  partialObjectMetadataList,
  type SpokenKind,
  tableOf,
  type TypeNames,
} from '@cluster-apiserver/model';
import type { Transform } from './negotiate.ts';

/** What is shown in the place of one object. A watch names the columns of a table only once. */
export const transformObject = (
  kind: SpokenKind,
  object: KubeObject,
  transform: Transform,
  { nowMs, namesColumns = true }: { readonly nowMs: number; readonly namesColumns?: boolean },
): object =>
  transform.as === 'Table'
    ? tableOf(kind, [object], versionOf(object), { ...transform, namesColumns, nowMs })
    : partialObjectMetadata(object, transform.version);

const versionOf = ({ metadata: { resourceVersion } }: KubeObject): ListMetadata =>
  resourceVersion === undefined ? {} : { resourceVersion };

/** The form of what is shown of one object, where protobuf can say it. */
export const objectSchema = (kind: SpokenKind, transform: Transform | undefined): ObjectSchema =>
  transform ? partialMetadataSchema : kind.schema;

export const listSchema = (kind: Kind, transform: Transform | undefined): ObjectSchema =>
  transform ? partialMetadataListSchema : kind.listSchema;

/** What is shown for a list, or in its place: the list when it has nothing in it, and what then belongs at its end. */
export interface ListTransform {
  readonly transform: Transform | undefined;
  readonly empty: TypeNames;
  members(objects: readonly KubeObject[]): readonly object[];
}

/** The list says kind and version for all. */
function withoutTypeNames(object: KubeObject): object {
  const { kind: _, apiVersion: __, ...rest } = object;
  return rest;
}

export function createListTransform(
  kind: Kind,
  metadata: ListMetadata,
  transform: Transform | undefined,
  nowMs: number,
): ListTransform {
  if (!transform) {
    const empty = { kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata, items: [] };
    return { transform, empty, members: (objects) => objects.map(withoutTypeNames) };
  }
  if (transform.as === 'Table') {
    const table = (objects: readonly KubeObject[]): ReturnType<typeof tableOf> =>
      tableOf(kind, objects, metadata, { ...transform, namesColumns: true, nowMs });
    return { transform, empty: table([]), members: (objects) => table(objects).rows };
  }
  return {
    transform,
    empty: partialObjectMetadataList([], metadata, transform.version),
    members: (objects) => objects.map((object) => partialObjectMetadata(object, transform.version)),
  };
}
