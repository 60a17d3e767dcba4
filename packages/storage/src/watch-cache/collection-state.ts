import type { Clock } from '@cluster-apiserver/base';
import {
  CollectionDetachedError,
  CollectionSuspendedError,
  HistoryReplacedError,
  type StorageUnavailableError,
} from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Entry } from '../store.ts';
import { ChangeWindow, type ItemChange } from './change-window.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import { CollectionLoad, type LoadOptions } from './collection-load.ts';
import { Contents } from './contents.ts';
import { itemKeyOf } from './entry-decoder.ts';
import type { HistoryReader } from './history-reader.ts';
import { RetainedViews } from './retained-views.ts';

/** Receives each change synchronously and in order, so it must be quick. */
export interface Subscriber<Item> {
  onChange(change: ItemChange<Item>): void;
  /** Changes were missed: the collection was loaded again, suspended or detached. */
  onReset(): void;
}

/** A load that is complete. */
export interface Loaded {
  readonly revision: Revision;
  /** Whether fewer objects are unreadable than in the present contents. */
  readonly readsMore: () => boolean;
  /**
   * Replaces the contents at once by what was loaded, which is the state at `now`. Returns the number of objects; undefined
   * if the collection was suspended or detached meanwhile.
   */
  readonly publish: (now: Revision) => number | undefined;
}

type NotServedError = CollectionSuspendedError | CollectionDetachedError | StorageUnavailableError;

/** The weight of the previous versions of objects, which only the window keeps. */
const windowWeightMax = 32 * 1024 * 1024;

/** As in kube-apiserver. An idle watch gets a bookmark each minute, so its client is never further behind. */
const windowAgeMs = 75_000;

/** This much is kept however old it is, because clients of a quiet kind return after hours. */
const windowWeightKept = 4 * 1024 * 1024;

const trimIntervalMs = 5_000;

/**
 * The objects below one prefix as the feed maintains them: loading, ready, suspended because a key is unavailable, or
 * detached.
 */
export class CollectionState<Item extends CacheItem> {
  readonly descriptor: CollectionDescriptor<Item>;
  readonly window = new ChangeWindow<Item>({
    weightMax: windowWeightMax,
    weightOf: ({ previous }) => previous?.weight ?? 0,
  });
  readonly retainedViews = new RetainedViews<Item>();
  readonly subscribers = new Set<Subscriber<Item>>();
  /** Readers of the history, which end with the contents that they lead to. */
  readonly historyReaders = new Set<HistoryReader<Item>>();
  readonly #clock: Clock;
  readonly #firstLoad = Promise.withResolvers<void>();
  #contents: Contents<Item>;
  /** Whether the contents were loaded; false again while the data of another etcd are read. */
  #isLoaded = false;
  #error: NotServedError | undefined;
  #load: CollectionLoad<Item> | undefined;
  #cancelTrim: (() => void) | undefined;
  #initializations = 0;
  #eventsReceived = 0;
  #eventsDispatched = 0;

  constructor(descriptor: CollectionDescriptor<Item>, clock: Clock, now: Revision) {
    this.descriptor = descriptor;
    this.#clock = clock;
    this.#contents = new Contents(descriptor.termsOf, now);
    this.#firstLoad.promise.catch(() => {}); // it may have no waiter
  }

  get contents(): Contents<Item> {
    return this.#contents;
  }

  /** Resolves when contents are published for the first time; rejects if the collection is detached before. */
  get firstLoad(): Promise<void> {
    return this.#firstLoad.promise;
  }

  /** Why the contents are not served. */
  get error(): NotServedError | undefined {
    return this.#error;
  }

  get isReady(): boolean {
    return this.#isLoaded && !this.#error;
  }

  /** Whether a key is unavailable. */
  get isSuspended(): boolean {
    return this.#error instanceof CollectionSuspendedError;
  }

  get isDetached(): boolean {
    return this.#error instanceof CollectionDetachedError;
  }

  /** Whether changes must be applied. Those of a suspended collection are dropped, and need not even be decrypted. */
  get needsChanges(): boolean {
    return this.isReady || this.#load !== undefined;
  }

  /** Whether a load may read more than the present contents have. */
  get lacksValues(): boolean {
    return !this.isReady || this.#contents.unreadable > 0;
  }

  get counts(): { initializations: number; eventsReceived: number; eventsDispatched: number } {
    return {
      initializations: this.#initializations,
      eventsReceived: this.#eventsReceived,
      eventsDispatched: this.#eventsDispatched,
    };
  }

  /** Applies a change below the prefix. */
  apply(key: string, entry: Entry | undefined, revision: Revision): void {
    this.#eventsReceived++;
    const itemKey = itemKeyOf(this.descriptor, key);
    const current = entry && this.descriptor.read(entry, itemKey);
    this.#load?.noteChange(itemKey, current, revision);
    if (!this.isReady) return;
    const previous = this.#contents.set(itemKey, current, revision);
    const change = { key: itemKey, revision, previous, current };
    this.window.add(change);
    this.#scheduleTrim();
    this.retainedViews.dropBefore(this.window.since);
    for (const subscriber of this.subscribers) subscriber.onChange(change);
    this.#eventsDispatched++;
  }

  /**
   * Lists all objects, and keeps the changes that arrive meanwhile. The present contents are served until the new ones are
   * published. Rejects with a CollectionSuspendedError if a key is unavailable, and if the signal aborts.
   */
  async load(options: LoadOptions): Promise<Loaded> {
    const load = new CollectionLoad(this.descriptor, this.#contents);
    this.#load = load;
    try {
      const revision = await load.run(options);
      return {
        revision,
        readsMore: () => load.finish().unreadable < this.#contents.unreadable,
        publish: (now) => this.#publish(load, now),
      };
    } catch (error) {
      if (this.#load === load) this.#load = undefined;
      throw error;
    }
  }

  /** Forgets the load that is running. */
  endLoad(): void {
    this.#load = undefined;
  }

  #publish(load: CollectionLoad<Item>, now: Revision): number | undefined {
    // It lacks the changes since.
    if (this.#load !== load) return undefined;
    this.#load = undefined;
    const contents = load.finish();
    this.#isLoaded = true;
    this.#error = undefined;
    this.#initializations++;
    this.#replaceContents(contents, now);
    this.#firstLoad.resolve();
    return this.#contents.size;
  }

  /** Nothing is served until the first load, because the store cannot be read. */
  refuseUntilLoaded(error: StorageUnavailableError): void {
    if (!this.#isLoaded) this.#error ??= error;
  }

  /** The key of a value is unavailable. The contents, which would lack its change, are dropped until another load. */
  suspend(error: CollectionSuspendedError, now: Revision): void {
    this.#load = undefined;
    this.#error = error;
    this.#replaceContents(new Contents(this.descriptor.termsOf, now), now, error);
  }

  detach(now: Revision): void {
    const error = new CollectionDetachedError(this.descriptor.prefix);
    this.#load = undefined;
    this.#error = error;
    this.close();
    this.#firstLoad.reject(error);
    this.#replaceContents(new Contents(this.descriptor.termsOf, now), now, error);
    this.subscribers.clear();
  }

  /** Another history begins, of which `now` is the latest revision. */
  replaceHistory(now: Revision): void {
    this.#load = undefined;
    this.#isLoaded = false;
    this.#error = undefined;
    this.#replaceContents(new Contents(this.descriptor.termsOf, now), now, new HistoryReplacedError());
  }

  close(): void {
    this.#cancelTrim?.();
  }

  #replaceContents(contents: Contents<Item>, now: Revision, error?: Error): void {
    this.#contents = contents;
    this.window.restartAt(now);
    this.retainedViews.clear();
    if (error) for (const reader of this.historyReaders) reader.fail(error);
    for (const subscriber of this.subscribers) subscriber.onReset();
  }

  /** Drops old changes periodically while there are many. A quiet collection has no timer. */
  #scheduleTrim(): void {
    if (this.window.weight <= windowWeightKept || this.#cancelTrim) return;
    this.#cancelTrim = this.#clock.after(trimIntervalMs, () => {
      this.#cancelTrim = undefined;
      this.window.trim(this.#clock.monotonicMs(), windowAgeMs, windowWeightKept);
      this.retainedViews.dropBefore(this.window.since);
      this.#scheduleTrim();
    });
  }
}
