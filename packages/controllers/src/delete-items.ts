import { StatusError } from '@cluster-apiserver/model';
import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model/validation';
import { type CachedObject, deleteObject, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import type { Pace } from './pace.ts';

/** Deletions of one pass at a time: enough to keep the storage busy, few enough not to slow down clients. */
const workers = 8;

/** After this many failures the other deletions wait for the next try: the storage probably fails. */
const failuresMax = 8;

export interface DeletionOptions {
  readonly pace: Pace;
  readonly signal: AbortSignal;
  readonly call: () => Call;
}

/** What remains after the deletion. */
export interface Left {
  /** Objects that finalizers hold. */
  readonly held: number;
  readonly unreadable: number;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly failures: readonly unknown[];
}

/** Deletes the objects that are not being deleted yet, and counts the others. */
export async function deleteItems(
  resource: Resource,
  items: Iterable<CachedObject>,
  { pace, signal, call }: DeletionOptions,
): Promise<Left> {
  const finalizers = new Map<string, number>();
  const failures: unknown[] = [];
  let [held, unreadable] = [0, 0];
  const countHeld = (item: StoredObject): void => {
    held++;
    for (const finalizer of otherFinalizers(item)) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  };
  const work = async (): Promise<void> => {
    for (const item of items) {
      if (pace.isDue()) await pace.pause();
      if (item.unreadable) unreadable++;
      else if (isHeldByOthers(item)) countHeld(item);
      else
        try {
          if (!(await isGone(resource, item, call()))) countHeld(item);
        } catch (error) {
          signal.throwIfAborted();
          failures.push(error);
        }
      // All workers stop together, so that this pass has ended when the next one begins.
      if (failures.length >= failuresMax) return;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: workers }, work));
  const aborted = ends.find((end) => end.status === 'rejected');
  if (aborted) throw aborted.reason;
  return { held, unreadable, finalizers, failures };
}

/** The finalizers of others: a background deletion removes those of the garbage collector. */
const otherFinalizers = ({ lifecycle }: StoredObject): readonly string[] =>
  (lifecycle?.finalizers ?? []).filter(
    (finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer,
  );

/** Whether it is being deleted already, so that another deletion would change nothing. */
const isHeldByOthers = (item: StoredObject): boolean =>
  item.lifecycle?.deletionTimestamp !== undefined && otherFinalizers(item).length === item.lifecycle.finalizers?.length;

async function isGone(resource: Resource, { namespace, name, uid }: StoredObject, call: Call): Promise<boolean> {
  const options = { namespace, dryRun: false, preconditions: { uid }, propagationPolicy: 'Background' };
  try {
    return (await deleteObject(resource, name, options, call)).gone;
  } catch (error) {
    if (error instanceof StatusError && error.reason === 'NotFound') return true;
    throw error;
  }
}
