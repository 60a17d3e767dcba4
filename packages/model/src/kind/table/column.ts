import type { KubeObject } from '../object.ts';
import { formatAge } from './age.ts';

/** A column of the table that a kind is shown as. */
export interface Column<T extends KubeObject> {
  readonly name: string;
  readonly description: string;
  /** `name` marks the column by which a person names the object. */
  readonly format?: string;
  /** The type of the cells, such as `date` or `integer`, if it is not text. */
  readonly type?: string;
  /** Above 0, it is only shown by `kubectl get -o wide`. */
  readonly priority?: number;
  /** Depends on the time, because tables show ages. */
  readonly value: (object: T, nowMs: number) => Cell;
}

export type Cell = string | number | boolean | null;

export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  description: 'Name of the object, unique for its kind within a namespace.',
  format: 'name',
  value: ({ metadata }) => metadata.name ?? '',
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  description: 'Time since the creation of the object.',
  value: ({ metadata }, nowMs) => formatAge(metadata.creationTimestamp, nowMs),
};

/** The time itself, for kinds whose tables upstream shows without an age. */
export const createdAtColumn: Column<KubeObject> = {
  name: 'Created At',
  description: 'Creation time of the object.',
  type: 'date',
  value: ({ metadata }) => metadata.creationTimestamp ?? '',
};

/** The columns of kinds for which upstream declares none. */
export const undeclaredColumns: readonly Column<KubeObject>[] = [nameColumn, createdAtColumn];

/** How a kind is shown that declares no columns. */
export const plainColumns: readonly Column<KubeObject>[] = [nameColumn, ageColumn];
