import { type KubeObject, notFound, type ObjectMeta, StatusError } from '@cluster-apiserver/model';
import { deleteObject, patch } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import type { Member } from './member.ts';

/**
 * Everything that the collector writes. A write is refused when it would meet another object of the same name, and one
 * that takes away an object or an owner also when the object has been written since we saw it.
 */

/** Who the writes are by, in managedFields. */
const manager = 'garbage-collector';

/** Without a policy the object's own finalizers decide, and without those its dependents follow in the background. */
export function deleteMember(member: Member, propagationPolicy: 'Foreground' | undefined, call: Call): Promise<void> {
  const { resource, namespace, name, uid, revision } = member;
  const preconditions = { uid, resourceVersion: String(revision) };
  return unlessGone(deleteObject(resource, name, { namespace, dryRun: false, preconditions, propagationPolicy }, call));
}

/** Takes the references to these owners out of a dependent. */
export function detach(member: Member, ownerUids: ReadonlySet<string>, call: Call): Promise<void> {
  return changeMetadata(member, call, ({ ownerReferences = [], ...metadata }) => {
    const kept = ownerReferences.filter(({ uid }) => !ownerUids.has(uid));
    return { ...metadata, resourceVersion: String(member.revision), ...(kept.length > 0 && { ownerReferences: kept }) };
  });
}

/** Takes away the finalizer by which a deletion waits for us. The object may have changed: its deletion cannot be undone. */
export function release(member: Member, finalizer: string, call: Call): Promise<void> {
  return changeMetadata(member, call, ({ finalizers = [], ...metadata }) => {
    const kept = finalizers.filter((other) => other !== finalizer);
    return { ...metadata, ...(kept.length > 0 && { finalizers: kept }) };
  });
}

function changeMetadata(member: Member, call: Call, change: (metadata: ObjectMeta) => ObjectMeta): Promise<void> {
  const { resource, namespace, name, uid } = member;
  const changed = (object: KubeObject): KubeObject => {
    if (object.metadata.uid !== uid) throw notFound(resource.kind, name);
    return { ...object, metadata: change(object.metadata) };
  };
  const nobodyToTell = (): void => {};
  const options = {
    namespace,
    dryRun: false,
    manager,
    warn: nobodyToTell,
    unknownFields: nobodyToTell,
    change: changed,
  };
  return unlessGone(patch(resource, name, options, call));
}

/** What is gone already is as it should be. */
async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}
