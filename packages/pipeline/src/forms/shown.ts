import {
  type Kind,
  type KubeObject,
  type ListMetadata,
  type ObjectSchema,
  partialMetadataListSchema,
  partialMetadataSchema,
  partialObjectMetadata,
  partialObjectMetadataList,
  type EncodableKind,
  tableOf,
  type TypeNames,
} from '@cluster-apiserver/model';
import type { Shown } from './negotiate.ts';

/** What is shown in the place of one object. A watch names the columns of a table only once. */
export const shownObject = (
  kind: EncodableKind,
  object: KubeObject,
  shown: Shown,
  { nowMs, namesColumns = true }: { readonly nowMs: number; readonly namesColumns?: boolean },
): object =>
  shown.as === 'Table'
    ? tableOf(kind, [object], versionOf(object), { ...shown, namesColumns, nowMs })
    : partialObjectMetadata(object, shown.version);

const versionOf = ({ metadata: { resourceVersion } }: KubeObject): ListMetadata =>
  resourceVersion === undefined ? {} : { resourceVersion };

/** The form of what is shown of one object, where protobuf can say it. */
export const objectSchema = (kind: EncodableKind, shown: Shown | undefined): ObjectSchema =>
  shown ? partialMetadataSchema : kind.schema;

export const listSchema = (kind: Kind, shown: Shown | undefined): ObjectSchema =>
  shown ? partialMetadataListSchema : kind.listSchema;

/** What is shown for a list, or in its place: the list when it has nothing in it, and what then belongs at its end. */
export interface ShownList {
  readonly shown: Shown | undefined;
  readonly empty: TypeNames;
  members(objects: readonly KubeObject[]): readonly object[];
}

/** The list says kind and version for all. */
function withoutNames(object: KubeObject): object {
  const { kind: _, apiVersion: __, ...rest } = object;
  return rest;
}

export function shownList(kind: Kind, metadata: ListMetadata, shown: Shown | undefined, nowMs: number): ShownList {
  if (!shown) {
    const empty = { kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata, items: [] };
    return { shown, empty, members: (objects) => objects.map(withoutNames) };
  }
  if (shown.as === 'Table') {
    const table = (objects: readonly KubeObject[]): ReturnType<typeof tableOf> =>
      tableOf(kind, objects, metadata, { ...shown, namesColumns: true, nowMs });
    return { shown, empty: table([]), members: (objects) => table(objects).rows };
  }
  return {
    shown,
    empty: partialObjectMetadataList([], metadata, shown.version),
    members: (objects) => objects.map((object) => partialObjectMetadata(object, shown.version)),
  };
}
