import { byteString, decodeStored, StatusError } from '@cluster-apiserver/model';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Call, Revision } from '@cluster-apiserver/storage';
import { eachOf } from '../feed.ts';

/** What a namespace still has in it after everything was asked to go. */
export interface Content {
  /** How many objects, by `resource.group`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** How many of them each finalizer holds. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** What went wrong, in words. */
  readonly failures: readonly string[];
}

/** Enough to keep the storage busy, few enough to leave it to the clients. */
const workers = 8;

/** Deletes everything that was in a namespace at a revision, and tells what stays. */
export async function deleteContent(
  resources: readonly Resource[],
  scope: { readonly namespace: string; readonly revision: Revision },
  call: () => Call,
): Promise<Content> {
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  for (const resource of resources) {
    const { plural, group } = resource.kind;
    try {
      const held = await deleteAll(resource, scope, call);
      if (held.length > 0) remaining.set(`${plural}.${group}`, held.length);
      for (const finalizer of held.flatMap((item) => item.finalizers))
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    } catch (error) {
      // The others go all the same.
      call();
      failures.push(`${plural}.${group}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { remaining, finalizers, failures };
}

interface Named {
  readonly name: string;
  readonly uid: string;
}

interface Item extends Named {
  readonly finalizers: readonly string[];
}

/** Deletes all there was of a kind, and gives what its finalizers hold. */
async function deleteAll(
  resource: Resource,
  scope: { readonly namespace: string; readonly revision: Revision },
  call: () => Call,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  await eachOf(resource, scope, call, ({ value }) => {
    // Every stored object has been given a name and a uid.
    const { name, uid, finalizers = [] } = decodeStored(byteString(value)).metadata as Partial<Item> & Named;
    items.push({ name, uid, finalizers });
  });
  const held: Item[] = [];
  const failures: unknown[] = [];
  const todo = items.values();
  const work = async (): Promise<void> => {
    for (const item of todo) {
      try {
        if (!(await isGone(resource, scope.namespace, item, call()))) held.push(item);
      } catch (error) {
        failures.push(error);
      }
      // All stop together, so that nothing of this look goes on behind the next one.
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  if (failures.length > 0) throw failures[0];
  return held;
}

async function isGone(resource: Resource, namespace: string, { name, uid }: Item, call: Call): Promise<boolean> {
  const how = { dryRun: false, preconditions: { uid }, propagationPolicy: 'Background' };
  try {
    return (await deleteObject(resource, name, { namespace, ...how }, call)).gone;
  } catch (error) {
    if (error instanceof StatusError && error.reason === 'NotFound') return true;
    throw error;
  }
}
