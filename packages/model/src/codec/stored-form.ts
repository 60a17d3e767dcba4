import type { KubeObject } from '../object.ts';
import { parseJson } from './json.ts';

/**
 * The bytes of an object. Stored is the canonical JSON without resourceVersion, because that is the revision of the
 * write and not known before it. The client's form is the same bytes with the resourceVersion put in place, so an
 * answer is a cut and a join and no JSON is parsed or written on the way.
 */
export function encodeStored(object: KubeObject): Buffer {
  if (object.metadata.resourceVersion === undefined) return Buffer.from(JSON.stringify(object));
  const { resourceVersion: _, ...metadata } = object.metadata;
  return Buffer.from(JSON.stringify({ ...object, metadata }));
}

export function decodeStored(stored: Buffer): KubeObject {
  const text = stored.toString();
  // Ours: canonical when it was written, and checked by the transformer.
  return (longNumber.test(text) ? parseJson(text).value : JSON.parse(text)) as KubeObject;
}

/** A number that a double may not hold. */
const longNumber = /:-?[0-9]{16,}[,}]/;

/**
 * Where the resourceVersion belongs: behind the uid. The search is safe because a quote inside a JSON string is always
 * escaped, so these bytes can only be the member itself, and metadata is the first object that has one.
 */
const uidMember = Buffer.from(',"uid":"');
const quote = 0x22;

export function clientForm(stored: Buffer, resourceVersion: string): Buffer {
  const at = stored.indexOf(quote, stored.indexOf(uidMember) + uidMember.length) + 1;
  const member = `,"resourceVersion":"${resourceVersion}"`;
  const out = Buffer.allocUnsafe(stored.length + member.length);
  stored.copy(out, 0, 0, at);
  out.write(member, at, 'latin1');
  stored.copy(out, at + member.length, at);
  return out;
}

/** The form inside a list, where the list says kind and apiVersion for all. */
export function itemForm(stored: Buffer, resourceVersion: string, typePrefix: Buffer): Buffer {
  const whole = clientForm(stored, resourceVersion);
  const item = whole.subarray(typePrefix.length - 1);
  item[0] = 0x7b; // the comma behind apiVersion becomes the opening brace
  return item;
}

/** How the canonical form of a kind begins. */
export const typePrefix = (kind: string, apiVersion: string): Buffer =>
  Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
