import {
  type Kind,
  type KubeObject,
  type ListMetadata,
  partialObjectMetadata,
  partialObjectMetadataList,
  tableOf,
} from '@cluster-apiserver/model';
import type { Shown } from './negotiate.ts';

/** What is shown in the place of one object. A watch names the columns of a table only once. */
export const shownObject = (
  kind: Kind,
  object: KubeObject,
  shown: Shown,
  { nowMs, namesColumns = true }: { readonly nowMs: number; readonly namesColumns?: boolean },
): object =>
  shown.as === 'Table'
    ? tableOf(kind, [object], versionOf(object), { ...shown, namesColumns, nowMs })
    : partialObjectMetadata(object, shown.version);

const versionOf = ({ metadata: { resourceVersion } }: KubeObject): ListMetadata =>
  resourceVersion === undefined ? {} : { resourceVersion };

/** What is shown in the place of a list: the list when it has nothing in it, and what then belongs at its end. */
export interface ShownList {
  readonly empty: object;
  members(objects: readonly KubeObject[]): readonly object[];
}

export function shownList(kind: Kind, metadata: ListMetadata, shown: Shown, nowMs: number): ShownList {
  if (shown.as === 'Table') {
    const table = (objects: readonly KubeObject[]): ReturnType<typeof tableOf> =>
      tableOf(kind, objects, metadata, { ...shown, namesColumns: true, nowMs });
    return { empty: table([]), members: (objects) => table(objects).rows };
  }
  return {
    empty: partialObjectMetadataList([], metadata, shown.version),
    members: (objects) => objects.map((object) => partialObjectMetadata(object, shown.version)),
  };
}
