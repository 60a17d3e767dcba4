import { hash } from 'node:crypto';
import { largeBytesMin, requireValue, runSync, type SyncTask } from '@cluster-apiserver/base';
import { storedBounds } from '../json/json-scan.ts';
import { parsedAtOnceMax, parseJsonSteps } from '../json/json.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
import { type KubeObject, requireKubeObject } from '../kind/object.ts';
import type { ApiVersion } from '../kind/api-version.ts';
import type { Renewed, StoredForm, StoredVersions } from '../kind/storage.ts';
import { isJsonObject } from '../json/json-object.ts';
import { decode, WrongTypeError } from '../schema/decode.ts';
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
  return stored.at(-1) === closingBrace && stored.subarray(0, begin.length).equals(begin) && stored.includes(uidMember);
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
  const held = yield* decodeHeld(version, withIdentity(version, value), stored.length);
  yield;
  if (version === present) return { value: bytesOf(encodeStored(held)), object: held };
  if (!conversion.isImmediate) return { value: bytesOf(encodeStored(held)), object: held, isFormer: true };
  const object = conversion.convert(held, version, present);
  yield;
  return { value: bytesOf(encodeStored(object)), object };
}

/** What kube-apiserver reads is read here, too: fields of metadata of wrong types are left out in objects of custom kinds. */
function* decodeHeld(version: ApiVersion, value: object, storedBytes: number): SyncTask<KubeObject> {
  const options = { hugeDefaults: 'omitted', storedBytes } as const;
  try {
    return storedBytes < largeBytesMin
      ? decode(version.schema, value, () => {}, options)
      : yield* decodeInSteps(version.schema, value, () => {}, options);
  } catch (error) {
    if (!version.isCustom || !(error instanceof WrongTypeError)) throw error;
    return decode(version.schema, value, () => {}, { ...options, leavesOutMalformed: true });
  }
}

/**
 * What was written to etcd by hand may lack what every object has. All replicas give it the same uid, which the next write
 * stores.
 */
function withIdentity({ group, kind, isCustom }: ApiVersion, value: object): object {
  const metadata = 'metadata' in value && isJsonObject(value.metadata) ? value.metadata : undefined;
  const isCounted = !isCustom || Boolean(metadata?.['generation']);
  if (!metadata || (metadata['uid'] && isCounted)) return value;
  const { namespace, name } = metadata;
  const uid = metadata['uid'] ? metadata['uid'] : uidNamed(JSON.stringify([group, kind, namespace, name]));
  return { ...value, metadata: { ...metadata, uid, ...(!isCounted && { generation: 1 }) } };
}

/** A version 8 UUID, whose other bits are free. */
function uidNamed(name: string): string {
  const digits = hash('sha256', name);
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `8${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20, 32)].join('-');
}

const prefixes = new WeakMap<StoredVersions, Buffer>();

/** What each value in this form begins with. Cached, because it is needed for every object that is read. */
function prefixOf(kind: StoredVersions, present: ApiVersion): Buffer {
  let begin = prefixes.get(kind);
  if (!begin) prefixes.set(kind, (begin = bytesOf(typePrefix(present.kind, present.apiVersion))));
  return begin;
}

const closingBrace = 0x7d;

/** Go writes the same beginning, and what is written by hand may lack a uid. */
const uidMember = '"uid":"';

const versionOf = (
  versions: readonly ApiVersion[],
  names: { readonly kind?: unknown; readonly apiVersion?: unknown },
): ApiVersion | undefined =>
  versions.find(({ kind, apiVersion }) => names.kind === kind && names.apiVersion === apiVersion);
