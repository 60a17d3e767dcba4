import type { KubeObject } from './object.ts';
import type { GroupVersionKind, ObjectSchema } from '../schema/schema.ts';
import type { Column } from './table/column.ts';

/** What has to be known of a kind to read one of its objects, and to write it in every form. */
export interface EncodableKind extends GroupVersionKind {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly schema: ObjectSchema;
  /** Whether objects can be read and written as protobuf. */
  readonly hasProtobuf: boolean;
  /** The columns of its table; none where it is not shown as one. */
  readonly columns: readonly Column<KubeObject>[];
}

/** What clients see of a kind that has a path of its own, whether its objects are stored or made for one answer. */
export interface ServedKind extends EncodableKind {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** What can be done with its objects, in the order of the alphabet. */
  readonly verbs: readonly string[];
  readonly subresourceForms: readonly ServedSubresource[];
  /** The version in which its objects are stored; absent if they are not stored. */
  readonly storedAs?: GroupVersionKind;
}

/** What clients see of what has a path behind an object. */
export interface ServedSubresource extends GroupVersionKind {
  /** The last segment of its path. */
  readonly name: string;
  readonly verbs: readonly string[];
  /** What is sent to it and what it answers. */
  readonly schema: ObjectSchema;
}
