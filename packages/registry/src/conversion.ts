import { awaitValue, invariant, requireValue, type Task } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import type { ApiVersion, BatchConversion, ImmediateConversion, Kind, KubeObject } from '@cluster-apiserver/model/kind';
import type { Converted, Versions } from '@cluster-apiserver/model/managed-fields';
import type { Call } from '@cluster-apiserver/storage';

/** A kind, and the version in which a client sees its objects. */
export interface VersionedKind {
  /**
   * The version in which writes are decided: the stored one, or that of the client if the conversion between them has to
   * wait.
   */
  readonly kind: Kind;
  readonly served: ApiVersion;
}

/** The kind in one of its versions, which are kinds of their own if the conversion between them has to wait. */
export const versionedKind = (stored: Kind, served: ApiVersion): VersionedKind => ({
  kind: isKind(served) ? served : stored,
  served,
});

const isKind = (version: ApiVersion): version is Kind => 'storage' in version;

/** An object as writes are decided on it, in the served version. */
export const toServed = ({ kind, served }: VersionedKind, object: KubeObject): KubeObject =>
  kind === served ? object : immediate(kind).convert(object, kind, served);

/** The way back. */
export const fromServed = ({ kind, served }: VersionedKind, object: KubeObject): KubeObject =>
  kind === served ? object : immediate(kind).convert(object, served, kind);

function immediate({ conversion }: Kind): ImmediateConversion {
  invariant(conversion.isImmediate, 'writes are decided in the version of the client if its conversion has to wait');
  return conversion;
}

/**
 * An object of the store in the version in which writes are decided, or one that is written in the stored version. A
 * promise if its conversion has to wait.
 */
export function toVersion(
  { conversion, versions }: Kind,
  object: KubeObject,
  to: ApiVersion,
  call: Call,
): KubeObject | Promise<KubeObject> {
  // What can be converted at once is only converted for clients.
  if (conversion.isImmediate || object.apiVersion === to.apiVersion) return object;
  const from = requireVersion(versions, object.apiVersion);
  return convertBatch(conversion, [object], from, to, call).then(([only]) => requireValue(only));
}

/** An object of a write in any of the versions of its kind. A promise if the conversion has to wait. */
export function inVersion(
  kind: Kind,
  object: KubeObject,
  to: ApiVersion,
  call: Call,
): KubeObject | Promise<KubeObject> {
  const { conversion, versions } = kind;
  if (!conversion.isImmediate) return toVersion(kind, object, to, call);
  return object.apiVersion === to.apiVersion
    ? object
    : conversion.convert(object, requireVersion(versions, object.apiVersion), to);
}

/** How owners of fields see an object in their versions; undefined if its versions differ in names of fields at most. */
export const ownersVersions = (
  { conversion, versions }: Kind,
  call: Call,
  whenFailed: 'fails' | 'stays',
): Versions<Promise<unknown>> | undefined =>
  conversion.isImmediate
    ? undefined
    : {
        has: (apiVersion) => versions.some((version) => version.apiVersion === apiVersion),
        convert: (objects, apiVersion) => convertStates(conversion, versions, objects, apiVersion, call, whenFailed),
      };

function* convertStates(
  conversion: BatchConversion,
  versions: readonly ApiVersion[],
  objects: readonly KubeObject[],
  apiVersion: string,
  call: Call,
  whenFailed: 'fails' | 'stays',
): Task<Converted | undefined> {
  const to = requireVersion(versions, apiVersion);
  const froms = new Set(objects.map((object) => object.apiVersion));
  const converted = [...objects];
  for (const from of froms) {
    if (from === apiVersion) continue;
    const places = objects.flatMap((object, at) => (object.apiVersion === from ? [at] : []));
    const held = places.map((at) => requireValue(objects[at]));
    try {
      const results = yield* awaitValue(convertBatch(conversion, held, requireVersion(versions, from), to, call));
      for (const [index, at] of places.entries()) converted[at] = requireValue(results[index]);
    } catch (error) {
      if (whenFailed === 'stays' && error instanceof StatusError && !call.isAborted) return undefined;
      throw error;
    }
  }
  return { schema: to.schema, objects: converted };
}

const requireVersion = (versions: readonly ApiVersion[], apiVersion: string | undefined): ApiVersion =>
  requireValue(
    versions.find((version) => version.apiVersion === apiVersion),
    'objects are read in the versions of their kind',
  );

/** Rejects, too, if the conversion returns another number of objects. */
export async function convertBatch(
  conversion: BatchConversion,
  objects: readonly KubeObject[],
  from: ApiVersion,
  to: ApiVersion,
  call: Call,
): Promise<readonly KubeObject[]> {
  const converted = await conversion.convert(objects, from, to, call);
  invariant(converted.length === objects.length, 'a conversion leaves out no object');
  return converted;
}

/** Converts a stored object at once; undefined if it is served as it is stored, or if the conversion has to wait. */
export const immediateConversion = (
  stored: Kind,
  served: ApiVersion,
): ((object: KubeObject) => KubeObject) | undefined => {
  const { conversion } = stored;
  return stored === served || !conversion.isImmediate
    ? undefined
    : (object) => conversion.convert(object, stored, served);
};
