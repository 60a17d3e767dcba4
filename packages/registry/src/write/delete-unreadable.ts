import { conflict, notFound, type Status, success } from '@cluster-apiserver/model';
import { type Call, CorruptValueError, RevisionMismatchError } from '@cluster-apiserver/storage';
import { type Place, placeOf, type Resource } from '../resource.ts';

/**
 * Takes away what cannot be read, whatever it is: its finalizers, its owners and its version are not known, so nobody
 * is asked for leave. What it owned is left behind.
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
  const { kind } = resource;
  const place = placeOf(resource, namespace, name);
  if (!dryRun) await remove(resource, place, name, call);
  return success({ name, ...(kind.group && { group: kind.group }), kind: kind.plural });
}

async function remove({ store, kind, collection }: Resource, { key }: Place, name: string, call: Call): Promise<void> {
  // A list tells what stands where even if it cannot be read, and the shortest key of a range is its first.
  const { entries } = await store.list({ prefix: key, limit: 1 }, call);
  const [entry] = entries;
  if (entry?.key !== key) throw notFound(kind, name);
  try {
    collection.wrote(await store.delete(key, entry.revision, call));
  } catch (error) {
    // Somebody wrote in between, readable or not: that is another object to decide about.
    if (error instanceof RevisionMismatchError || error instanceof CorruptValueError)
      throw conflict(kind, name, 'the object has been modified; please try again');
    throw error;
  }
}
