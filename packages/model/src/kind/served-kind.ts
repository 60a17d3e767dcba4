import type { KubeObject } from './object.ts';
import type { GroupVersionKind } from '../schema/group-version-kind.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { Column } from './table/column.ts';

/** The properties of a kind that decoding and encoding its objects need. */
export interface EncodableKind extends GroupVersionKind {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly schema: ObjectSchema<KubeObject>;
  /** Whether objects can be read and written as protobuf. */
  readonly hasProtobuf: boolean;
  /**
   * Whether clients have defined it. kube-apiserver reads and writes objects of such kinds without Go types, which shows in
   * some places: items of lists have their kind, and a strategic merge patch has nothing to go by.
   */
  readonly isCustom: boolean;
  /** Its objects may hold more values than others, see `clientBounds`. */
  readonly valuesMax?: number;
  /** The columns of its table; none where it is not shown as one. */
  readonly columns: readonly Column<KubeObject>[];
  /** Rows of a table with a smaller number come first; the others stay in the order of the list. */
  readonly rowRank?: ((object: KubeObject) => number) | undefined;
}

/** The properties of a kind that clients see, whether its objects are stored or only answered. */
export interface ServedKind extends EncodableKind {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  /** The kind of lists of its objects. */
  readonly listKind: string;
  readonly namespaced: boolean;
  /** The supported verbs in alphabetical order. */
  readonly verbs: readonly string[];
  readonly subresourceForms: readonly ServedSubresource[];
  /** Each request draws this warning. */
  readonly deprecation?: string;
  /** Its definition is being deleted: discovery shows no verbs that create or change objects. */
  readonly isTerminating?: boolean;
  /** The version in which its objects are stored; absent if they are not stored. */
  readonly storedAs?: GroupVersionKind;
}

/** The properties of a subresource that clients see. */
export interface ServedSubresource extends GroupVersionKind {
  /** The last segment of its path. */
  readonly name: string;
  readonly verbs: readonly string[];
  /** The schema of its requests and responses. */
  readonly schema: ObjectSchema;
}
