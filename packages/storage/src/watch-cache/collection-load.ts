import { awaitWithin, type Call, callUntil, type Clock, loopOf } from '@cluster-apiserver/base';
import { CollectionSuspendedError } from '../errors.ts';
import { type Revision, zeroRevision } from '../revision.ts';
import type { Entry, ListResult, Store } from '../store.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import { Contents } from './contents.ts';
import { itemKeyOf, runInFeed } from './entry-decoder.ts';

export interface LoadOptions {
  readonly store: Pick<Store, 'list'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The revision to load; the latest if undefined. */
  readonly at: Revision | undefined;
  /** Resolves when all changes up to this revision have been noted. */
  readonly reach?: (revision: Revision) => Promise<void>;
}

/** As kube-apiserver loads its caches. More round trips cost etcd much more time. */
const pageKeys = 10_000;

/** Longer than a KMS plugin needs for a key. A load without this key fails, and is tried again. */
const keyTimeoutMs = 1_000;

/** A list of a collection, and the changes that arrive meanwhile. */
export class CollectionLoad<Item extends CacheItem> {
  readonly #descriptor: CollectionDescriptor<Item>;
  /** What is served until the load is complete. */
  readonly #present: Contents<Item>;
  /** The latest change of each key. */
  readonly #changes = new Map<string, { readonly item: Item | undefined; readonly revision: Revision }>();
  #listedAt = zeroRevision;
  #contents: Contents<Item>;

  constructor(descriptor: CollectionDescriptor<Item>, present: Contents<Item>) {
    this.#descriptor = descriptor;
    this.#present = present;
    this.#contents = new Contents(descriptor.termsOf, zeroRevision);
  }

  noteChange(key: string, item: Item | undefined, revision: Revision): void {
    this.#changes.set(key, { item, revision });
  }

  /** Rejects with a CollectionSuspendedError if a key is unavailable, and if the signal aborts. */
  async run({ store, clock, signal, at, reach }: LoadOptions): Promise<Revision> {
    const call = callOf(signal);
    const loop = loopOf(clock);
    const { prefix } = this.#descriptor;
    const readPage = (after: string | undefined, revision: Revision | undefined): Promise<ListResult> => {
      const page = store.list({ prefix, after, limit: pageKeys, revision, keyTimeoutMs }, call);
      page.catch(() => {}); // the error is thrown where the page is awaited, unless the load has ended before
      return page;
    };
    for (let next: Promise<ListResult> | undefined = readPage(undefined, at); next; ) {
      const page: ListResult = await awaitWithin(clock, call, next);
      this.#listedAt = page.revision;
      // The store reads the next page while this one is decoded.
      next = page.remaining > 0 ? readPage(page.entries.at(-1)?.key, page.revision) : undefined;
      for (const entry of page.entries) {
        if (!loop.hasTime('feed')) await loop.turn('feed');
        if (entry.unreadable?.isPermanent === false) throw new CollectionSuspendedError(prefix, entry.unreadable);
        const known = this.#knownItemOf(entry);
        const preparing = known ? undefined : this.#descriptor.prepare?.(entry);
        if (preparing) await runInFeed(loop, preparing);
        const item = known ?? this.#descriptor.read(entry, itemKeyOf(this.#descriptor, entry.key));
        this.#contents.set(item.key, item, page.revision);
      }
    }
    await reach?.(this.#listedAt);
    // Changes that arrive meanwhile are visited, too.
    for (const key of this.#changes.keys()) {
      if (!loop.hasTime('feed')) await loop.turn('feed');
      this.#apply(key);
    }
    signal.throwIfAborted();
    return this.#listedAt;
  }

  /** A version that could be read before need not be read again, and its key may have been removed since. */
  #knownItemOf(entry: Entry): Item | undefined {
    const known = this.#present.get(itemKeyOf(this.#descriptor, entry.key));
    return known && known.revision === entry.revision && !known.unreadable ? known : undefined;
  }

  /** What was loaded, with all changes. */
  finish(): Contents<Item> {
    for (const key of this.#changes.keys()) this.#apply(key);
    return this.#contents;
  }

  #apply(key: string): void {
    const change = this.#changes.get(key);
    this.#changes.delete(key);
    if (change && change.revision > this.#listedAt) this.#contents.set(key, change.item, change.revision);
  }
}

/** A slow store may take minutes for many objects. A load fails if a page makes no progress, however long it takes. */
export function callOf(signal: AbortSignal): Call {
  return {
    ...callUntil(Number.POSITIVE_INFINITY),
    signal,
    get isAborted() {
      return signal.aborted;
    },
  };
}
