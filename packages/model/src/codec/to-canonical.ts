import { storedBounds } from '../json/json-scan.ts';
import type { Kind } from '../kind/kind.ts';
import { decode } from '../schema/decode.ts';
import { parseStoredJson } from '../json/json.ts';
import { isProtobuf, parseProtobuf } from './protobuf.ts';
import { bytesOf, encodeStored, typePrefix } from './stored-form.ts';

/**
 * The canonical bytes of a stored object: the given ones if this server wrote them. kube-apiserver stores the same objects
 * as protobuf, or as JSON with a newline at the end; such values are decoded by the schema and encoded again. Throws if
 * they are no object of the kind.
 */
export function toCanonical(kind: Kind, stored: Buffer): Buffer {
  const begin = prefixOf(kind);
  if (stored.at(-1) === closingBrace && stored.subarray(0, begin.length).equals(begin)) return stored;
  const { value } = isProtobuf(stored)
    ? parseProtobuf(
        stored,
        (names) => (isTypeOf(kind, names) && kind.hasProtobuf ? kind.schema : undefined),
        storedBounds,
      )
    : parseStoredJson(stored.toString());
  if (typeof value !== 'object' || value === null || !isTypeOf(kind, value))
    throw new TypeError(`it is no ${kind.kind} of ${kind.apiVersion}`);
  return bytesOf(encodeStored(decode(kind.schema, value, () => {})));
}

const closingBrace = 0x7d;

const isTypeOf = (
  { kind, apiVersion }: Kind,
  names: { readonly kind?: unknown; readonly apiVersion?: unknown },
): boolean => names.kind === kind && names.apiVersion === apiVersion;

const prefixes = new WeakMap<Kind, Buffer>();

/** Cached, because it is needed for every object that is read. */
function prefixOf(kind: Kind): Buffer {
  let begin = prefixes.get(kind);
  if (!begin) prefixes.set(kind, (begin = bytesOf(typePrefix(kind.kind, kind.apiVersion))));
  return begin;
}
