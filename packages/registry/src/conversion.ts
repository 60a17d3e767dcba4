import { invariant, requireValue } from '@cluster-apiserver/base';
import type { ApiVersion, BatchConversion, Kind, KubeObject } from '@cluster-apiserver/model/kind';
import type { Call } from '@cluster-apiserver/storage';

/** A kind, and the version in which a client sees its objects. */
export interface VersionedKind {
  readonly kind: Kind;
  readonly served: ApiVersion;
}

/** A stored object in the served version; a promise only if the conversion has to wait. */
export const toServed = ({ kind, served }: VersionedKind, stored: KubeObject, call: Call) =>
  convert(kind, stored, kind, served, call);

/** The way back. */
export const toStored = ({ kind, served }: VersionedKind, object: KubeObject, call: Call) =>
  convert(kind, object, served, kind, call);

function convert(
  { conversion }: Kind,
  object: KubeObject,
  from: ApiVersion,
  to: ApiVersion,
  call: Call,
): KubeObject | Promise<KubeObject> {
  if (from === to) return object;
  if (conversion.isImmediate) return conversion.convert(object, from, to);
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
export const immediateConversion = ({
  kind,
  served,
}: VersionedKind): ((stored: KubeObject) => KubeObject) | undefined => {
  const { conversion } = kind;
  return kind === served || !conversion.isImmediate ? undefined : (stored) => conversion.convert(stored, kind, served);
};
