import { storedBounds } from '../json/json-scan.ts';
import type { ApiVersion } from '../kind/api-version.ts';
import type { Kind } from '../kind/kind.ts';
import { decode } from '../schema/decode.ts';
import { parseStoredJson } from '../json/json.ts';
import { isProtobuf, parseProtobuf } from './protobuf.ts';
import { bytesOf, encodeStored, typePrefix } from './stored-form.ts';

/**
 * The canonical bytes of a stored object: the given ones if this server wrote them. kube-apiserver stores the same objects
 * as protobuf, or as JSON with a newline at the end, and objects stay in the version in which they were stored until they
 * are written again. Such values are decoded by the schema of their version, converted and encoded again. Throws if they are
 * no object of the kind, or if their conversion would have to wait.
 */
export function toCanonical(kind: Kind, stored: Buffer): Buffer {
  const begin = prefixOf(kind);
  if (stored.at(-1) === closingBrace && stored.subarray(0, begin.length).equals(begin)) return stored;
  const { value } = isProtobuf(stored)
    ? parseProtobuf(
        stored,
        (names) => {
          const version = versionOf(kind, names);
          return version?.hasProtobuf ? version.schema : undefined;
        },
        storedBounds,
      )
    : parseStoredJson(stored.toString());
  const version = typeof value === 'object' && value !== null ? versionOf(kind, value) : undefined;
  if (typeof value !== 'object' || value === null || !version)
    throw new TypeError(`it is no ${kind.kind} of ${kind.apiVersion}`);
  const object = decode(version.schema, value, () => {});
  if (version === kind) return bytesOf(encodeStored(object));
  const { conversion } = kind;
  if (!conversion.isImmediate) throw new TypeError(`it is stored as ${version.apiVersion}`);
  return bytesOf(encodeStored(conversion.convert(object, version, kind)));
}

const closingBrace = 0x7d;

const versionOf = (
  { versions }: Kind,
  names: { readonly kind?: unknown; readonly apiVersion?: unknown },
): ApiVersion | undefined =>
  versions.find(({ kind, apiVersion }) => names.kind === kind && names.apiVersion === apiVersion);

const prefixes = new WeakMap<Kind, Buffer>();

/** Cached, because it is needed for every object that is read. */
function prefixOf(kind: Kind): Buffer {
  let begin = prefixes.get(kind);
  if (!begin) prefixes.set(kind, (begin = bytesOf(typePrefix(kind.kind, kind.apiVersion))));
  return begin;
}
