import { errorMessage } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import { itemKey, StorageUnavailableError } from '@cluster-apiserver/storage';
import { deleteItems, type DeletionOptions } from '../delete-items.ts';
import { heldElsewhere, itemsWithin } from '../memory.ts';

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

export interface ContentOptions extends DeletionOptions {
  /** The namespaced kinds. */
  readonly resources: readonly Resource[];
  readonly namespace: string;
  /** The kind of namespaces. */
  readonly home: Resource;
  /** Ends the namespace in the etcds of these kinds, which do not have it. */
  readonly end: (held: readonly Resource[]) => Promise<void>;
}

/** Deletes all cached objects of a namespace that are not being deleted yet, and counts the remaining ones. */
export async function deleteContent({ resources, namespace, home, end, ...options }: ContentOptions): Promise<Content> {
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  let [unreadable, isWorthRetry] = [0, false];
  const unreachable = new Set<Resource>();
  for (const held of Map.groupBy(heldElsewhere(resources, home), ({ collection }) => collection.feed).values())
    await end(held).catch((error: unknown) => {
      if (!(error instanceof StorageUnavailableError)) throw error;
      for (const resource of held) unreachable.add(resource);
      failures.push(...held.map(({ kind }) => `${kind.plural}.${kind.group}: ${errorMessage(error)}`));
      isWorthRetry = true;
    });
  // All views are taken in one turn, so those of one etcd have the same revision.
  const snapshots = resources
    .filter((resource) => !unreachable.has(resource))
    .map((resource) => ({ resource, view: resource.collection.view() }));
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
