import { invariant } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import type { objectMeta } from '../schema/common.ts';
import type { ValueOf } from '../schema/schema.ts';

/** Objects as they are inside the server: canonical values of their kind's schema (see schema/decode.ts). */

export interface KubeObject {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Distinguishes objects from other values. It does not check fields, which is what decoding does. */
export const isKubeObject = (value: unknown): value is KubeObject =>
  isJsonObject(value) && isJsonObject(value['metadata']);

export function requireKubeObject(value: unknown): KubeObject {
  invariant(isKubeObject(value), 'an object without metadata has no name');
  return value;
}

export type ObjectMeta = ValueOf<typeof objectMeta>;
export type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];
export type ManagedFieldsEntry = NonNullable<ObjectMeta['managedFields']>[number];
