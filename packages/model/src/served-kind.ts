import type { Subresource } from './kind.ts';
import type { KubeObject } from './object.ts';
import type { GroupVersionKind, ObjectSchema } from './schema/schema.ts';
import type { Column } from './table/column.ts';

/**
 * What clients see of a kind, whether its objects are stored or made for one answer. Discovery, documents, decoding and
 * the forms of an answer follow from this alone.
 */
export interface ServedKind extends GroupVersionKind {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  readonly scope: Scope;
  /** What can be done with its objects, in the order of the alphabet. */
  readonly verbs: readonly string[];
  readonly schema: ObjectSchema;
  /** Whether objects can be read and written as protobuf. */
  readonly hasProtobuf: boolean;
  readonly columns: readonly Column<KubeObject>[];
  readonly subresourceForms: readonly Subresource[];
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
}

/** Whether an object lies in a namespace. */
export type Scope = 'Namespaced' | 'Cluster';
