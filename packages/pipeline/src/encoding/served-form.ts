import type { ByteString } from '@cluster-apiserver/model/codec';
import type { ApiVersion, KubeObject } from '@cluster-apiserver/model/kind';
import type { ObjectList } from '@cluster-apiserver/registry';

/** What encoders write: the version of a resource, and how they get an object in it from the stored JSON. */
export interface ServedForm {
  readonly served: ApiVersion;
  /** Undefined if the JSON is in the served version already. */
  readonly fromStored: ((stored: KubeObject) => KubeObject) | undefined;
}

export const inServedForm = ({ fromStored }: ServedForm, stored: KubeObject): KubeObject =>
  fromStored ? fromStored(stored) : stored;

/** What encoders read of an object, and of a list. */
export interface EncodableObject {
  readonly json: ByteString;
}
export type EncodableList = Omit<ObjectList, 'items'> & { readonly items: readonly EncodableObject[] };
