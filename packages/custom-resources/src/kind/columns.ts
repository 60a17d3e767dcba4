import { formatJson } from '@cluster-apiserver/model';
import { formatNumber, isRawNumber, numberOf } from '@cluster-apiserver/model/json';
import {
  ageColumn,
  type Cell,
  type Column,
  formatAge,
  type KubeObject,
  nameColumn,
} from '@cluster-apiserver/model/kind';
import { findJsonPath, type JsonPath } from '../json-path.ts';
import type { DefinedColumn } from './definition.ts';

/** In the words of kube-apiserver, which clients show. */
export const metadataColumns: readonly [Column<KubeObject>, Column<KubeObject>] = [
  {
    ...nameColumn,
    description:
      'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
  },
  {
    ...ageColumn,
    type: 'date',
    description:
      'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
  },
];

/** Values that the columns of a row may visit together. */
const rowVisitsMax = 50_000;

/** The columns of a version. One that cannot be read ends the columns, as in kube-apiserver. */
export function columnsOf(defined: readonly DefinedColumn[] = []): readonly Column<KubeObject>[] {
  if (defined.length === 0) return metadataColumns;
  const columns: Column<KubeObject>[] = [metadataColumns[0]];
  for (const declared of defined) {
    const path = findJsonPath(declared.jsonPath, rowVisitsMax / defined.length);
    if (!path) break;
    columns.push(columnOf(declared, path));
  }
  return columns;
}

function columnOf({ name, type, format, description, priority = 0, jsonPath }: DefinedColumn, path: JsonPath) {
  return {
    name,
    type,
    ...(format && { format }),
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
    value: (object: KubeObject, nowMs: number) => cellOf(type, path.first(object), nowMs),
  };
}

/** Null for a value of another type than that of the column. A text shows anything. */
function cellOf(type: string, value: unknown, nowMs: number): Cell {
  if (value === undefined) return null;
  const number = typeof value === 'number' || isRawNumber(value) ? numberOf(value) : undefined;
  switch (type) {
    case 'integer':
      return number === undefined ? null : Math.trunc(number);
    case 'number':
      return number ?? null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, nowMs) : null;
    default:
      return textOf(value);
  }
}

function ageOf(time: string, nowMs: number): string {
  if (time === '') return '<unknown>';
  return Number.isNaN(Date.parse(time)) || !isTime.test(time) ? '<invalid>' : formatAge(time, nowMs);
}
const isTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/;

function textOf(value: unknown): string {
  if (value === null) return '<no value>';
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? formatNumber(value) : formatJson(value);
}
