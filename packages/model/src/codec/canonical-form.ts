import { requireValue } from '@cluster-apiserver/base';
import { storedBounds } from '../json/json-scan.ts';
import { parseStoredJson } from '../json/json.ts';
import type { ApiVersion } from '../kind/api-version.ts';
import type { KubeObject } from '../kind/object.ts';
import type { StoredForm, StoredVersions } from '../kind/storage.ts';
import { decode } from '../schema/decode.ts';
import { isProtobuf, parseProtobuf } from './protobuf.ts';
import { type ByteString, bytesOf, encodeStored, typePrefix } from './stored-form.ts';

/**
 * Canonical JSON. kube-apiserver stores the same objects as protobuf, or as JSON with a newline at the end, and objects stay
 * in the version in which they were stored until they are written again. Such values are decoded by the schema of their
 * version, converted and encoded again.
 */
export class CanonicalForm implements StoredForm {
  readonly #stored: StoredVersions;
  /** What each value in this form begins with. */
  #prefix: Buffer | undefined;

  constructor(stored: StoredVersions) {
    this.#stored = stored;
  }

  encode(object: KubeObject): ByteString {
    return encodeStored(object);
  }

  renew(stored: Buffer): Buffer {
    const { versions, conversion } = this.#stored;
    const present = requireValue(versions[0]);
    const begin = (this.#prefix ??= bytesOf(typePrefix(present.kind, present.apiVersion)));
    if (stored.at(-1) === closingBrace && stored.subarray(0, begin.length).equals(begin)) return stored;
    const { value } = isProtobuf(stored)
      ? parseProtobuf(
          stored,
          (names) => {
            const version = versionOf(versions, names);
            return version?.hasProtobuf ? version.schema : undefined;
          },
          storedBounds,
        )
      : parseStoredJson(stored.toString());
    const version = typeof value === 'object' && value !== null ? versionOf(versions, value) : undefined;
    if (typeof value !== 'object' || value === null || !version)
      throw new TypeError(`it is no ${present.kind} of ${present.apiVersion}`);
    const object = decode(version.schema, value, () => {});
    if (version === present) return bytesOf(encodeStored(object));
    if (!conversion.isImmediate) throw new TypeError(`it is stored as ${version.apiVersion}`);
    return bytesOf(encodeStored(conversion.convert(object, version, present)));
  }
}

const closingBrace = 0x7d;

const versionOf = (
  versions: readonly ApiVersion[],
  names: { readonly kind?: unknown; readonly apiVersion?: unknown },
): ApiVersion | undefined =>
  versions.find(({ kind, apiVersion }) => names.kind === kind && names.apiVersion === apiVersion);
