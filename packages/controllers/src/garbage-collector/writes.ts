import type { KubeObject, ObjectMeta, OwnerReference } from '@cluster-apiserver/model/kind';
import { deleteObject, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { type Call, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject, unlessGone } from '../change-object.ts';
import type { Owner } from './graph.ts';

/**
 * The writes of the collector. Each has the uid as a precondition. Deletions and detachments also require that the object
 * has not changed since.
 */

/** The writer, in managedFields. */
const manager = 'garbage-collector';

/** Without a policy the object's own finalizers decide, and without those its dependents follow in the background. */
export function deleteDependent(
  resource: Resource,
  object: StoredObject,
  propagationPolicy: 'Foreground' | undefined,
  call: Call,
): Promise<void> {
  const { uid, revision, name } = object;
  const preconditions = { uid, resourceVersion: String(revision) };
  const options = { namespace: namespaceOf(resource, object), dryRun: false, preconditions, propagationPolicy };
  return unlessGone(deleteObject(resource, name, options, call));
}

/** Takes the references to these owners out of a dependent. */
export function detach(resource: Resource, object: StoredObject, owners: readonly Owner[], call: Call): Promise<void> {
  const forgotten = new Set(owners.map(referenceTo));
  return changeMetadata(resource, object, call, ({ ownerReferences = [], ...metadata }) => {
    const kept = ownerReferences.filter((reference) => !forgotten.has(identityOf(reference)));
    return { ...metadata, resourceVersion: String(object.revision), ...(kept.length > 0 && { ownerReferences: kept }) };
  });
}

/** Removes a finalizer of the collector. The object may have changed meanwhile, because its deletion cannot be undone. */
export function releaseFinalizer(
  resource: Resource,
  object: StoredObject,
  finalizer: string,
  call: Call,
): Promise<void> {
  return changeMetadata(resource, object, call, ({ finalizers = [], ...metadata }) => {
    const kept = finalizers.filter((other) => other !== finalizer);
    return { ...metadata, ...(kept.length > 0 && { finalizers: kept }) };
  });
}

function changeMetadata(
  resource: Resource,
  seen: StoredObject,
  call: Call,
  change: (metadata: ObjectMeta) => ObjectMeta,
): Promise<void> {
  const changed = (object: KubeObject): object => ({ ...object, metadata: change(object.metadata) });
  return changeObject(resource, seen, { manager, change: changed }, call);
}

/** One uid under two names are two references. */
const identityOf = ({ apiVersion, kind, name = '', uid }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid]);

const referenceTo = ({ resource: { kind }, itemKey, uid }: Owner): string =>
  identityOf({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    name: textOfItemKey(kind.namespaced ? itemKey.slice(itemKey.indexOf('/') + 1) : itemKey),
    uid,
  });

const namespaceOf = ({ kind }: Resource, { namespace }: StoredObject): string | undefined =>
  kind.namespaced ? namespace : undefined;
