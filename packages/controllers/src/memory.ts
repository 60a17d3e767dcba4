/** The watch cache as controllers read it: the kinds of one etcd in the order of one revision. */
import { callUntil, type Clock, onAbort } from '@cluster-apiserver/base';
import {
  type ApiChange,
  type CachedObject,
  type LiveApi,
  type Resource,
  type StoredObject,
  unreadableTerm,
} from '@cluster-apiserver/registry';
import type { Call, ItemChange, View } from '@cluster-apiserver/storage';

/** Less than the time between two terms of leadership. */
const callTimeoutMs = 2_000;

/** Makes the calls of one term; throws once the term is over. */
export function callsOf(clock: Clock, signal: AbortSignal): () => Call {
  return () => {
    signal.throwIfAborted();
    return callUntil(clock.monotonicMs() + callTimeoutMs);
  };
}

/** One resource of each etcd. */
export const onePerFeed = (resources: readonly Resource[]): readonly Resource[] => [
  ...new Map(resources.map((resource) => [resource.collection.feed, resource])).values(),
];

/** Those that another etcd holds than the given one. */
export const heldElsewhere = (
  resources: readonly Resource[],
  { collection: { feed } }: Resource,
): readonly Resource[] => resources.filter(({ collection }) => collection.feed !== feed);

/**
 * The linearizable read barrier of the resources, and of all others in the same etcds: afterwards memory holds whatever was
 * acknowledged before. Rejects at once when the term ends, because a barrier may wait as long as its call.
 */
export function readBarrier(resources: readonly Resource[], call: Call, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason));
    const fresh = Promise.all(
      onePerFeed(resources).map(async ({ collection }) => collection.waitUntilFresh(undefined, call)),
    );
    fresh.then(() => resolve(), reject).finally(stopListening);
  });
}

/** From now on nothing is created within the object in these etcds, and memory holds what was created there before. */
export async function endElsewhere(
  resources: readonly Resource[],
  { uid }: { readonly uid: string },
  call: Call,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(onePerFeed(resources).map(({ store }) => store.end(uid, call)));
  await readBarrier(resources, call, signal);
}

/** Small enough to be copied within a fraction of a slice. */
const chunkItems = 500;

/** The items of a snapshot whose keys begin with the text, in order; the pass may take many event-loop iterations. */
export function* itemsWithin({ items }: View<CachedObject>, within: string): Generator<CachedObject, void> {
  let from = within;
  for (;;) {
    const chunk: CachedObject[] = [];
    items.visit(from, (item) => {
      if (!item.key.startsWith(within)) return false;
      chunk.push(item);
      return chunk.length < chunkItems;
    });
    yield* chunk;
    const last = chunk.at(-1);
    if (!last || chunk.length < chunkItems) return;
    from = `${last.key}\0`;
  }
}

/**
 * Whether memory has been loaded; not before, while the data of another etcd are read, or while an encryption key is
 * unavailable.
 */
export const isLoaded = (resources: readonly Resource[]): boolean =>
  resources.every(({ collection }) => collection.isReady);

/** How many objects of a kind cannot be read. */
export const unreadableCount = ({ collection }: Resource): number => collection.countTerm(unreadableTerm);

export interface Follower {
  readonly changed: (resource: Resource, change: ItemChange<CachedObject>) => void;
  /** Changes were missed: whatever was derived from the collection has to be derived again. */
  readonly interrupted: (resource: Resource) => void;
  /** One of the above threw. The watch cache goes on: it serves all clients, and the controller is one of its readers. */
  readonly failed: (error: unknown) => void;
}

/** Follows the collections until the returned function is called. */
export function followAll(resources: readonly Resource[], { changed, interrupted, failed }: Follower): () => void {
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      failed(error);
    }
  };
  const stops = resources.map((resource) =>
    resource.collection.subscribe({
      onChange: (change) => guarded(() => changed(resource, change)),
      onReset: () => guarded(() => interrupted(resource)),
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

export interface ApiFollower extends Follower {
  /**
   * Kinds have come or gone, in their stored versions, or will not come although they were being loaded. Those that came are
   * followed already, those that went no more.
   */
  readonly kindsChanged: (change: ApiChange) => void;
}

/** Follows the collections of the selected kinds that are served at each time, until the returned function is called. */
export function followApi(
  api: LiveApi,
  selects: (stored: Resource) => boolean,
  { kindsChanged, ...follower }: ApiFollower,
): () => void {
  const stops = new Map<Resource, () => void>();
  const isSelected = (resource: Resource): boolean => resource.served === resource.stored && selects(resource);
  const follow = (resources: readonly Resource[]): void => {
    for (const resource of resources) stops.set(resource, followAll([resource], follower));
  };
  const stop = (resources: Iterable<Resource>): void => {
    for (const resource of resources) {
      stops.get(resource)?.();
      stops.delete(resource);
    }
  };
  follow(api.stored.filter(isSelected));
  const stopListening = api.onChange((change) => {
    const went = change.went.filter(isSelected);
    const came = change.came.filter(isSelected);
    stop(went);
    follow(came);
    try {
      kindsChanged({ came, went });
    } catch (error) {
      follower.failed(error);
    }
  });
  return () => {
    stopListening();
    stop(stops.keys());
  };
}

/** The item, if it is readable. */
export const readable = (item: CachedObject | undefined): StoredObject | undefined =>
  item?.unreadable ? undefined : item;
