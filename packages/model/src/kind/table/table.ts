import { unreachable } from '@cluster-apiserver/base';
import type { KubeObject } from '../object.ts';
import type { EncodableKind } from '../served-kind.ts';
import type { Cell } from './column.ts';
import { type ListMetadata, type MetaVersion, metaApiVersion, partialObjectMetadata } from './partial-metadata.ts';

export interface TableOptions {
  readonly version: MetaVersion;
  /** The part of the object that each row includes. */
  readonly include: 'None' | 'Metadata' | 'Object';
  /** A watch names the columns in its first table alone. */
  readonly namesColumns: boolean;
  readonly nowMs: number;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: string;
  readonly metadata: ListMetadata;
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly Row[];
}
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}
export interface Row {
  readonly cells: readonly Cell[];
  /** Null if not requested; as in kube-apiserver it is never absent. */
  readonly object: object | null;
}

/**
 * Objects of one kind as a table of `meta.k8s.io`. The objects have their resourceVersion; a single object is a table of
 * one row with the resourceVersion of the object.
 */
export const tableOf = (
  kind: EncodableKind,
  objects: readonly KubeObject[],
  metadata: ListMetadata,
  options: TableOptions,
): Table => ({
  kind: 'Table',
  apiVersion: metaApiVersion(options.version),
  metadata,
  columnDefinitions: options.namesColumns ? columnDefinitions(kind) : null,
  rows: objects.map((object) => toRow(kind, object, options)),
});

const columnDefinitions = ({ columns }: EncodableKind): ColumnDefinition[] =>
  columns.map(
    ({ name, description, type, format = '', priority = 0 }): ColumnDefinition => ({
      name,
      type: type ?? 'string',
      format,
      description,
      priority,
    }),
  );

function toRow(kind: EncodableKind, object: KubeObject, { version, include, nowMs }: TableOptions): Row {
  const cells = kind.columns.map(({ value }) => value(object, nowMs));
  switch (include) {
    case 'None':
      return { cells, object: null };
    case 'Metadata':
      return { cells, object: partialObjectMetadata(object, version) };
    case 'Object':
      return { cells, object: { ...object, kind: kind.kind, apiVersion: kind.apiVersion } };
    default:
      return unreachable(include);
  }
}
