import { errorMessage } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model/validation';
import { type CachedObject, deleteObject, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { type Call, itemKey } from '@cluster-apiserver/storage';
import { itemsWithin } from '../memory.ts';
import type { Pace } from '../pace.ts';

/** The remaining content of a namespace after all of it has been deleted. */
export interface Content {
  /** How many objects, by `resource.group`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** How many of them each finalizer holds. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Errors, for the condition. */
  readonly failures: readonly string[];
  /** How many objects cannot be read, and so cannot be deleted either. */
  readonly unreadable: number;
  /** A deletion failed that may succeed later. */
  readonly isWorthRetry: boolean;
}

/** Deletions of one namespace at a time: enough to keep the storage busy, few enough not to slow down clients. */
const workers = 8;

/** After this many failures the other deletions of a kind wait for the next try: the storage probably fails. */
const failuresMax = 8;

export interface ContentOptions {
  /** The namespaced kinds. */
  readonly resources: readonly Resource[];
  readonly namespace: string;
  readonly pace: Pace;
  readonly signal: AbortSignal;
  readonly call: () => Call;
}

/** Deletes all cached objects of a namespace that are not being deleted yet, and counts the remaining ones. */
export async function deleteContent({ resources, namespace, ...options }: ContentOptions): Promise<Content> {
  // All views are taken in one turn, so they have the same revision.
  const snapshots = resources.map((resource) => ({ resource, view: resource.collection.view() }));
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  let [unreadable, isWorthRetry] = [0, false];
  for (const { resource, view } of snapshots) {
    const items = itemsWithin(view, itemKey(`${namespace}/`));
    const left = await deleteItems(resource, items, options);
    const name = `${resource.kind.plural}.${resource.kind.group}`;
    const count = left.held + left.unreadable;
    if (count > 0) remaining.set(name, count);
    for (const [finalizer, holds] of left.finalizers)
      finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + holds);
    if (left.unreadable > 0) failures.push(`${name}: ${left.unreadable} stored objects cannot be read`);
    if (left.failures.length > 0) failures.push(`${name}: ${errorMessage(left.failures[0])}`);
    unreadable += left.unreadable;
    isWorthRetry ||= left.failures.length > 0;
  }
  return { remaining, finalizers, failures, unreadable, isWorthRetry };
}

interface Left {
  readonly held: number;
  readonly unreadable: number;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly failures: readonly unknown[];
}

async function deleteItems(
  resource: Resource,
  items: Iterable<CachedObject>,
  { pace, signal, call }: Pick<ContentOptions, 'pace' | 'signal' | 'call'>,
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
