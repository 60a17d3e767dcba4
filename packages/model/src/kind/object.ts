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

/** Every schema of a kind shows metadata, so each of its canonical values passes. */
export const isKubeObject = (value: unknown): value is KubeObject =>
  isJsonObject(value) && isJsonObject(value['metadata']);

export type ObjectMeta = ValueOf<typeof objectMeta>;
export type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];
export type ManagedFieldsEntry = NonNullable<ObjectMeta['managedFields']>[number];
