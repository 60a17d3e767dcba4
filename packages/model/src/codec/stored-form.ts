import type { SyncTask } from '@cluster-apiserver/base';
import { type KubeObject, requireKubeObject } from '../kind/object.ts';
import { parsedAtOnceMax, parseStoredJson } from '../json/json.ts';
import { joinTexts, jsonTexts } from '../json/json-texts.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';

/**
 * Bytes as a string with one character for each byte. The watch cache keeps objects as such strings: they take half the
 * memory of a Buffer, the garbage collector can compact them, and a socket writes them without a conversion.
 */
export type ByteString = string;

export const bytesOf = (bytes: ByteString): Buffer => Buffer.from(bytes, 'latin1');
export const byteString = (bytes: Buffer): ByteString => bytes.toString('latin1');

/**
 * The same bytes as a flat string. V8 keeps the parts of a concatenated string and the parent of a slice: twice the memory
 * for as long as it lives, and slow to compare.
 */
export function flatten(bytes: ByteString): ByteString {
  if (bytes.length > scratch.length) return byteString(bytesOf(bytes));
  return scratch.toString('latin1', 0, scratch.write(bytes, 'latin1'));
}

/** Most objects fit, and leave no garbage. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** In ASCII, text and bytes are the same. */
const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

/**
 * The bytes of an object. Stored is the canonical JSON without resourceVersion, because that is the revision of the
 * write and not known before it. The client's form is the same bytes with the resourceVersion put in place, so an
 * answer is a cut and a join and no JSON is parsed or written on the way.
 */
export function encodeStored(object: KubeObject): ByteString {
  return utf8Of(JSON.stringify(withoutResourceVersion(object)));
}

/** The same in steps. */
export function* encodeStoredInSteps(object: KubeObject): SyncTask<ByteString> {
  return utf8Of(yield* joinTexts(jsonTexts(withoutResourceVersion(object))));
}

const utf8Of = (text: string): ByteString => (isAscii(text) ? text : byteString(Buffer.from(text)));

function withoutResourceVersion(object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion === undefined) return object;
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const textOf = (bytes: ByteString): string => (isAscii(bytes) ? bytes : bytesOf(bytes).toString());

export function decodeStored(bytes: ByteString): KubeObject {
  const text = textOf(bytes);
  // This server wrote it in canonical form, and the transformer has authenticated it.
  return requireKubeObject(longNumber.test(text) ? parseStoredJson(text).value : JSON.parse(text));
}

/** The same in steps, if it is large. */
export function* decodeStoredInSteps(bytes: ByteString): SyncTask<KubeObject> {
  if (bytes.length <= parsedAtOnceMax) return decodeStored(bytes);
  return requireKubeObject(yield* parseInSteps(textOf(bytes)));
}

/** A number that a double may not hold. */
const longNumber = /[:[,]-?[0-9]{16,}[,}\]]/;

/**
 * The resourceVersion is inserted after the uid. For that, the canonical form of every kind begins with kind, apiVersion and
 * metadata, whatever members follow, and has the uid before labels and annotations. So the first of these bytes are the
 * member of the metadata: a quote inside a JSON string is always escaped.
 */
const uidMember = ',"uid":"';
const versionMember = ',"resourceVersion":"';

function endOfUid(bytes: ByteString): number {
  return bytes.indexOf('"', bytes.indexOf(uidMember) + uidMember.length) + 1;
}

export function toClientForm(stored: ByteString, resourceVersion: number): ByteString {
  const at = endOfUid(stored);
  return `${stored.slice(0, at)}${versionMember}${resourceVersion}"${stored.slice(at)}`;
}

/** The client's form of the same object as of another revision. */
export function withResourceVersion(client: ByteString, resourceVersion: number): ByteString {
  return toClientForm(toStoredForm(client), resourceVersion);
}

/** The way back from the client's form. */
export function toStoredForm(client: ByteString): ByteString {
  const at = endOfUid(client);
  const end = client.indexOf('"', at + versionMember.length) + 1;
  return `${client.slice(0, at)}${client.slice(end)}`;
}

export function uidOf(bytes: ByteString): string {
  const at = bytes.indexOf(uidMember) + uidMember.length;
  return bytes.slice(at, bytes.indexOf('"', at));
}

/** The beginning of the canonical form of a kind. Items of a list leave it out. */
export const typePrefix = (kind: string, apiVersion: string): ByteString =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
