import { largeBytesMin, requireValue, runSync, type SyncTask } from '@cluster-apiserver/base';
import { storedBounds } from '../json/json-scan.ts';
import { parseJsonSteps } from '../json/json.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
import { requireKubeObject } from '../kind/object.ts';
import type { ApiVersion } from '../kind/api-version.ts';
import type { Renewed, StoredForm, StoredVersions } from '../kind/storage.ts';
import { decode } from '../schema/decode.ts';
import { decodeInSteps } from '../schema/decode-in-steps.ts';
import { isProtobuf, parseProtobuf } from './protobuf.ts';
import { bytesOf, encodeStored, typePrefix } from './stored-form.ts';

/**
 * Canonical JSON. kube-apiserver stores the same objects as protobuf, or as JSON with a newline at the end, and objects stay
 * in the version in which they were stored until they are written again. Such values are decoded by the schema of their
 * version, converted and encoded again. If the conversion would have to wait, they stay in their version.
 */
export const canonicalForm: StoredForm = {
  renew: (stored, kind) => (isCurrent(stored, kind) ? { value: stored } : runSync(renew(stored, kind))),
  renewInSteps: renewCanonical,
};

/** V8 parses a value of this length in some milliseconds. */
const parsedAtOnceMax = 256 * 1024;

function* renewCanonical(stored: Buffer, kind: StoredVersions): SyncTask<Renewed> {
  if (!isCurrent(stored, kind)) return yield* renew(stored, kind);
  if (stored.length <= parsedAtOnceMax) return { value: stored };
  return { value: stored, object: requireKubeObject(yield* parseInSteps(stored.toString())) };
}

/**
 * The same for kinds whose schemas change: each value is pruned, and gets its defaults, as the present schema says. What it
 * loses so is still stored until it is written again.
 */
export const structuralForm: StoredForm = {
  renew: (stored, kind) => runSync(renewStructural(stored, kind)),
  renewInSteps: renewStructural,
};

function* renewStructural(stored: Buffer, kind: StoredVersions): SyncTask<Renewed> {
  const renewed = yield* renew(stored, kind);
  return renewed.value.equals(stored) ? { ...renewed, value: stored } : renewed;
}

function isCurrent(stored: Buffer, kind: StoredVersions): boolean {
  const begin = prefixOf(kind, requireValue(kind.versions[0]));
  return stored.at(-1) === closingBrace && stored.subarray(0, begin.length).equals(begin);
}

function* renew(stored: Buffer, kind: StoredVersions): SyncTask<Renewed> {
  const { versions, conversion } = kind;
  const present = requireValue(versions[0]);
  const { value } = isProtobuf(stored)
    ? parseProtobuf(
        stored,
        (names) => {
          const version = versionOf(versions, names);
          return version?.hasProtobuf ? version.schema : undefined;
        },
        storedBounds,
      )
    : yield* parseJsonSteps(stored.toString(), storedBounds);
  const version = typeof value === 'object' && value !== null ? versionOf(versions, value) : undefined;
  if (typeof value !== 'object' || value === null || !version)
    throw new TypeError(`it is no ${present.kind} of ${present.apiVersion}`);
  yield;
  const options = { hugeDefaults: 'omitted', storedBytes: stored.length } as const;
  const held =
    stored.length < largeBytesMin
      ? decode(version.schema, value, () => {}, options)
      : yield* decodeInSteps(version.schema, value, () => {}, options);
  yield;
  if (version === present) return { value: bytesOf(encodeStored(held)), object: held };
  if (!conversion.isImmediate) return { value: bytesOf(encodeStored(held)), object: held, isFormer: true };
  const object = conversion.convert(held, version, present);
  yield;
  return { value: bytesOf(encodeStored(object)), object };
}

const prefixes = new WeakMap<StoredVersions, Buffer>();

/** What each value in this form begins with. Cached, because it is needed for every object that is read. */
function prefixOf(kind: StoredVersions, present: ApiVersion): Buffer {
  let begin = prefixes.get(kind);
  if (!begin) prefixes.set(kind, (begin = bytesOf(typePrefix(present.kind, present.apiVersion))));
  return begin;
}

const closingBrace = 0x7d;

const versionOf = (
  versions: readonly ApiVersion[],
  names: { readonly kind?: unknown; readonly apiVersion?: unknown },
): ApiVersion | undefined =>
  versions.find(({ kind, apiVersion }) => names.kind === kind && names.apiVersion === apiVersion);
