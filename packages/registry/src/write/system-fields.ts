import type { SyncTask } from '@cluster-apiserver/base';
import { badRequest, formatTime } from '@cluster-apiserver/model';
import type { KubeObject, ObjectMeta, ServedKind } from '@cluster-apiserver/model/kind';
import { decode, decodeInSteps } from '@cluster-apiserver/model/schema';
import type { Resource } from '../resource.ts';

/** Leaves out fields, which may be absent but not undefined. V8 would be slow with an object after `delete`. */
function omit(meta: ObjectMeta, ...names: readonly (keyof ObjectMeta)[]): ObjectMeta {
  if (!names.some((name) => meta[name] !== undefined)) return meta;
  const omitted: readonly string[] = names;
  return Object.fromEntries(Object.entries(meta).filter(([name]) => !omitted.includes(name)));
}

const neverGiven = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const;
const systemFields = [...neverGiven, 'resourceVersion'] as const;

/** Drops what the server would set if the object were stored. */
export const withoutIdentity = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: omit(object.metadata, ...neverGiven),
});

/** Drops the fields that only the server sets. Like kube-apiserver it does so without a warning. */
export const withoutSystemFields = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: omit(object.metadata, ...systemFields),
});

/** These fields, and the generation, from another state of the same object. */
export function withSystemFieldsOf(before: KubeObject, object: KubeObject): KubeObject {
  const metadata: ObjectMeta = omit(object.metadata, ...systemFields, 'generation');
  const kept = Object.entries(before.metadata).filter(
    ([name]) => name === 'generation' || systemFields.some((field) => field === name),
  );
  return { ...object, metadata: { ...metadata, ...Object.fromEntries(kept) } };
}

/** Sets the uid and the creation time of a new object. */
export function withIdentity(object: KubeObject, { clock, random }: Pick<Resource, 'clock' | 'random'>): KubeObject {
  return {
    ...object,
    metadata: { ...object.metadata, uid: random.uuid(), creationTimestamp: formatTime(clock.now()) },
  };
}

/** Keeps the identity and the deletion state of the stored object. Validation rejects changes of other immutable fields. */
export function withIdentityOf(current: KubeObject, object: KubeObject): KubeObject {
  const { generation, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = current.metadata;
  const metadata: ObjectMeta = { ...omit(object.metadata, 'selfLink', 'resourceVersion', 'generation') };
  if (generation !== undefined) metadata.generation = generation;
  if (uid !== undefined) metadata.uid ??= uid;
  if (creationTimestamp !== undefined) metadata.creationTimestamp = creationTimestamp;
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  if (deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= deletionGracePeriodSeconds;
  return { ...object, metadata };
}

/** Sets the namespace of the URL, and rejects a body with another one. A cluster-scoped object loses its namespace. */
export function inNamespace(object: KubeObject, namespace: string | undefined): KubeObject {
  const given = object.metadata.namespace;
  if (namespace === undefined)
    return given === undefined ? object : { ...object, metadata: omit(object.metadata, 'namespace') };
  if (given !== undefined && given !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return given === namespace ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

/** Throws unless the object has the name of the URL. */
export function requireName({ metadata }: KubeObject, name: string): void {
  if (metadata.name === undefined)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** kube-apiserver looks at what a patch or a mutation has made, and not at the patch. */
const whenFound = { given: '', mutated: ' after mutating admission happens' };

/** Drops duplicates of owner references. Different references with the same uid stay: either may be the right one. */
export function withDistinctOwners(
  object: KubeObject,
  warn: (text: string) => void,
  by: 'given' | 'mutated' = 'given',
): KubeObject {
  const owners = object.metadata.ownerReferences;
  if (!owners || owners.length < 2) return object;
  const seen = new Set<string>();
  const doubled = new Set<string>();
  const distinct = owners.filter((owner) => {
    const text = JSON.stringify(owner); // canonical, so equal ones have equal texts
    if (seen.has(text)) doubled.add(owner.uid);
    return !seen.has(text) && seen.add(text);
  });
  if (doubled.size === 0) return object;
  warn(
    `.metadata.ownerReferences contains duplicate entries${whenFound[by]}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...doubled].join(', ')}`,
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences: distinct } };
}

/**
 * Restores the canonical form after steps that have set fields. A null that was applied is left to validation. Defaults are
 * only omitted in an object that holds too many values, or too much text, to be written.
 */
export const canonical = ({ schema }: ServedKind, object: KubeObject): KubeObject =>
  decode(schema, object, () => {}, canonicalOptions);

/** The same in steps. What the object has in common with the current one, which is canonical, stays. */
export const canonicalInSteps = (
  { schema }: ServedKind,
  object: KubeObject,
  current?: KubeObject,
): SyncTask<KubeObject> =>
  decodeInSteps(schema, object, () => {}, { ...canonicalOptions, ...(current && { current }) });

const canonicalOptions = { keepsNulls: true, hugeDefaults: 'omitted' } as const;
