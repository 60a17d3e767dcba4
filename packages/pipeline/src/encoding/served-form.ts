import type { Call } from '@cluster-apiserver/base';
import { type ByteString, byteString, decodeStored } from '@cluster-apiserver/model/codec';
import type { ApiVersion, KubeObject } from '@cluster-apiserver/model/kind';
import { convertBatch, type ObjectList, type Resource } from '@cluster-apiserver/registry';

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

/**
 * Whether objects are converted before they are encoded, because their conversion has to wait. The results take the place
 * of the stored objects, so the encoders have nothing to convert.
 */
export const isConvertedBefore = ({ kind, served }: Pick<Resource, 'kind' | 'served'>): boolean =>
  kind !== served && !kind.conversion.isImmediate;

/** Parsed in one turn of the event loop. */
const batchCharactersMax = 256 * 1024;

/** Rejects if one of the objects cannot be converted: none is left out. */
export async function convertBefore(
  { kind, served }: Pick<Resource, 'kind' | 'served'>,
  objects: readonly EncodableObject[],
  call: Call,
): Promise<readonly EncodableObject[]> {
  const { conversion } = kind;
  if (conversion.isImmediate) return objects;
  const converted: EncodableObject[] = [];
  for (const batch of batchesOf(objects)) {
    const stored = batch.map(({ json }) => decodeStored(json));
    for (const object of await convertBatch(conversion, stored, kind, served, call))
      converted.push({ json: byteString(Buffer.from(JSON.stringify(object))) });
  }
  return converted;
}

function* batchesOf(objects: readonly EncodableObject[]): Generator<readonly EncodableObject[]> {
  let batch: EncodableObject[] = [];
  let characters = 0;
  for (const object of objects) {
    batch.push(object);
    characters += object.json.length;
    if (characters < batchCharactersMax) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}
