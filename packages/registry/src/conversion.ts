import { invariant, requireValue } from '@cluster-apiserver/base';
import type { ApiVersion, BatchConversion, ImmediateConversion, Kind, KubeObject } from '@cluster-apiserver/model/kind';
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

/** The kind in one of its versions. */
export const versionedKind = (stored: Kind, served: ApiVersion): VersionedKind => ({
  kind: stored.ownKinds?.find((own) => own === served) ?? stored,
  served,
});

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
  const from = requireValue(
    versions.find(({ apiVersion }) => apiVersion === object.apiVersion),
    'objects are read in the versions of their kind',
  );
  return convertBatch(conversion, [object], from, to, call).then(([only]) => requireValue(only));
}

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
