import { type Call, requireValue } from '@cluster-apiserver/base';
import { type ByteString, byteString, decodeStored, typePrefix } from '@cluster-apiserver/model/codec';
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
 * of the stored objects, so the encoders have nothing to convert. Each object says in which version it is.
 */
export const isConvertedBefore = ({ kind }: Pick<Resource, 'kind'>): boolean => !kind.conversion.isImmediate;

/** Parsed in one turn of the event loop. */
const batchCharactersMax = 256 * 1024;

/** Rejects if one of the objects cannot be converted: none is left out. */
export async function convertBefore(
  { kind: { versions, conversion }, served }: Pick<Resource, 'kind' | 'served'>,
  objects: readonly EncodableObject[],
  call: Call,
): Promise<readonly EncodableObject[]> {
  if (conversion.isImmediate) return objects;
  const converted = [...objects];
  for (const from of versions) {
    if (from === served) continue;
    for (const batch of batchesOf(objects, typePrefix(from.kind, from.apiVersion))) {
      const held = batch.map((at) => decodeStored(requireValue(objects[at]).json));
      const results = await convertBatch(conversion, held, from, served, call);
      for (const [index, at] of batch.entries())
        converted[at] = { json: byteString(Buffer.from(JSON.stringify(results[index]))) };
    }
  }
  return converted;
}

/** The places of the objects that begin like this. */
function* batchesOf(objects: readonly EncodableObject[], begin: ByteString): Generator<readonly number[]> {
  let batch: number[] = [];
  let characters = 0;
  for (const [at, { json }] of objects.entries()) {
    if (!json.startsWith(begin)) continue;
    batch.push(at);
    characters += json.length;
    if (characters < batchCharactersMax) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}
