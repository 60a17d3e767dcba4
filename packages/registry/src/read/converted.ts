/** Objects as a version of their kind shows them, if their conversion has to wait. */
import { type Call, requireValue } from '@cluster-apiserver/base';
import { type ByteString, byteString, decodeStored, typePrefix } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { fieldMatcher, type FieldSelector } from '@cluster-apiserver/model/selector';
import { convertBatch, type VersionedKind } from '../conversion.ts';
import type { Outcome } from '../outcome.ts';
import { isFieldOfKey, type Selection } from './selection.ts';

type EncodableObject = Pick<Outcome, 'json'>;

/** An object of a list: as it is stored, or in the version of the client already. */
export interface ListedObject extends Outcome {
  readonly name: string;
}

/**
 * Whether objects are converted before they are encoded, because their conversion has to wait. The results take the place
 * of the stored objects, so the encoders have nothing to convert. Each object says in which version it is.
 */
export const isConvertedBefore = ({ kind }: Pick<VersionedKind, 'kind'>): boolean => !kind.conversion.isImmediate;

/** Rejects if one of the objects cannot be converted: none is left out. */
export async function convertBefore(
  resource: VersionedKind,
  objects: readonly EncodableObject[],
  call: Call,
): Promise<readonly EncodableObject[]> {
  const all = [...objects];
  await convertEach(resource, objects, call, (at, converted) => {
    all[at] = { json: jsonOf(converted) };
  });
  return all;
}

/** A selection of a version, as far as it is known of objects that are stored in others. */
export const beforeConversion = <S extends Selection>(resource: VersionedKind, selection: S): S =>
  selectsByContent(resource, selection)
    ? { ...selection, fieldsOf: typePrefix(resource.served.kind, resource.served.apiVersion) }
    : selection;

/** A test of objects in the version of a client; undefined if nothing is known only then. */
export function convertedMatcher(
  resource: VersionedKind,
  selection: Pick<Selection, 'fields'>,
): ((object: KubeObject) => boolean) | undefined {
  if (!selectsByContent(resource, selection)) return undefined;
  const matches = fieldMatcher(selection.fields);
  return (object) => {
    const { name = '', namespace = '' } = object.metadata;
    return matches({ name, namespace, fields: resource.kind.fieldsOf?.(object) });
  };
}

const selectsByContent = (
  { kind }: VersionedKind,
  selection: Pick<Selection, 'fields'>,
): selection is { readonly fields: FieldSelector } =>
  isConvertedBefore({ kind }) && (selection.fields?.terms.some(({ field }) => !isFieldOfKey(field)) ?? false);

/** The objects that are selected in the version of the client, of those that were selected before their conversion. */
export async function selectConverted(
  resource: VersionedKind,
  selection: Selection,
  objects: readonly ListedObject[],
  call: Call,
): Promise<readonly ListedObject[]> {
  const matches = convertedMatcher(resource, selection);
  if (!matches) return objects;
  const all: (ListedObject | undefined)[] = [...objects];
  await convertEach(resource, objects, call, (at, converted) => {
    all[at] = matches(converted) ? inVersion(requireValue(objects[at]), jsonOf(converted)) : undefined;
  });
  return all.filter((object) => object !== undefined);
}

const inVersion = ({ name, revision }: ListedObject, json: ByteString): ListedObject => ({
  name,
  revision,
  json,
  get object() {
    return decodeStored(json);
  },
});

const jsonOf = (object: KubeObject): ByteString => byteString(Buffer.from(JSON.stringify(object)));

/** Parsed in one event-loop iteration. */
const batchCharactersMax = 256 * 1024;

/** Takes the objects that are in another version, batch by batch. */
async function convertEach(
  { kind: { versions, conversion }, served }: VersionedKind,
  objects: readonly EncodableObject[],
  call: Call,
  take: (at: number, converted: KubeObject) => void,
): Promise<void> {
  if (conversion.isImmediate) return;
  for (const from of versions) {
    if (from === served) continue;
    for (const batch of batchesOf(objects, typePrefix(from.kind, from.apiVersion))) {
      const held = batch.map((at) => decodeStored(requireValue(objects[at]).json));
      const results = await convertBatch(conversion, held, from, served, call);
      for (const [index, at] of batch.entries()) take(at, requireValue(results[index]));
    }
  }
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
