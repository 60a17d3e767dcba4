import { conflict, notFound, type Status, success } from '@cluster-apiserver/model';
import { type Call, CorruptValueError, RevisionMismatchError } from '@cluster-apiserver/storage';
import { type Place, placeOf, type Resource } from '../resource.ts';

/**
 * Removes an unreadable object. Its finalizers, owners and version are unknown, so they are not honored, and its
 * dependents stay.
 */
export async function deleteUnreadable(
  resource: Resource,
  {
    namespace,
    name,
    dryRun,
  }: { readonly namespace: string | undefined; readonly name: string; readonly dryRun: boolean },
  call: Call,
): Promise<Status> {
  const { served } = resource;
  const place = placeOf(resource, namespace, name);
  if (!dryRun) await remove(resource, place, name, call);
  return success({ name, ...(served.group && { group: served.group }), kind: served.plural });
}

async function remove(
  { store, served, collection }: Resource,
  { key }: Place,
  name: string,
  call: Call,
): Promise<void> {
  // A list returns the revisions of unreadable values, too, and the key itself is the first of its range.
  const { entries } = await store.list({ prefix: key, limit: 1 }, call);
  const [entry] = entries;
  if (entry?.key !== key) throw notFound(served, name);
  try {
    collection.noteLocalWrite(await store.delete(key, entry.revision, call));
  } catch (error) {
    // The object was written in between, so the client has to decide again.
    if (error instanceof RevisionMismatchError || error instanceof CorruptValueError)
      throw conflict(served, name, 'the object has been modified; please try again');
    throw error;
  }
}
