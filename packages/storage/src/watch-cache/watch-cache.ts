/**
 * Everything below a prefix in memory, in one order across all collections. One list and one watch feed it, and every write
 * below the prefix advances its revision. Lists and watches cannot disagree, because state, changes and revision advance
 * together in one event-loop iteration.
 */
import {
  backoff,
  callUntil,
  type Clock,
  invariant,
  type Loop,
  loopOf,
  onAbort,
  Places,
  type Random,
  sleep,
} from '@cluster-apiserver/base';
import {
  CollectionSuspendedError,
  HistoryReplacedError,
  RevisionCompactedError,
  StorageUnavailableError,
} from '../errors.ts';
import type { HistoryReplaced } from '../etcd/history.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, FollowedStore } from '../store.ts';
import { Collection, type HistoryBegin } from './collection.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import { CollectionState } from './collection-state.ts';
import { runInFeed } from './entry-decoder.ts';
import { Freshness } from './freshness.ts';
import { PrefixMap } from './prefix-map.ts';
import { SingleLoads } from './single-loads.ts';
import type { WatchCacheEvent } from './watch-cache-event.ts';

export interface WatchCacheOptions<Item extends CacheItem> {
  readonly store: FollowedStore;
  /** Of all collections, and of the store's internal keys. */
  readonly prefix: string;
  readonly collections: readonly CollectionDescriptor<Item>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** A watch that is behind and makes no progress for this long restarts: about etcd's election timeout. */
  readonly stallMs?: number;
}

/**
 * A replica loads a state this many revisions ago and then receives the changes since. So clients that come from another
 * replica find the changes that they have missed in memory. More would delay the start by about 80 µs each.
 */
const historyRevisions = 5_000;

const latestRevisionTimeoutMs = 30_000;
const restartFirstMs = 20;
const restartMaxMs = 5_000;

/** Of all collections together: their events are decoded beside those of the present. */
const historyReadersMax = 8;

/** So many collections are loaded at a time, each page by page. */
const concurrentLoads = 4;

interface Member<Item extends CacheItem> {
  readonly state: CollectionState<Item>;
  readonly collection: Collection<Item>;
}

/** Loads all collections, and follows the store from the loaded revision on; again if it loses the watch. */
export class WatchCache<Item extends CacheItem> {
  /** Those of the options, in their order. */
  readonly collections: readonly Collection<Item>[];
  readonly #options: WatchCacheOptions<Item>;
  readonly #freshness: Freshness;
  readonly #places = new Places(historyReadersMax);
  readonly #members = new PrefixMap<Member<Item>>();
  /** Of single collections. */
  readonly #loads: SingleLoads<Item>;
  /** The watch delivers thousands of entries at once. */
  readonly #loop: Loop;
  readonly #firstLoad = Promise.withResolvers<void>();
  /** Aborted when the store cannot be read any more. */
  #lost = new AbortController();
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  readonly #running: Promise<void>;
  #isSynced = false;
  #syncError: unknown;
  /** How often keys may have become available. */
  #retries = 0;
  /** The first revision of the present history. Clients do not know earlier ones. */
  #historyStart = 0;
  /** How the present history began; undefined if it is the first one. */
  #historyBegin: HistoryBegin | undefined;
  /** Aborted if the history is replaced, which ends the present load and watch. */
  #round = new AbortController();

  constructor(options: WatchCacheOptions<Item>) {
    const { store, clock, stallMs } = options;
    this.#options = options;
    this.#freshness = new Freshness({ store, clock, ...(stallMs !== undefined && { stallMs }) });
    this.#loads = new SingleLoads(options, this.#freshness);
    this.#loop = loopOf(clock);
    this.collections = options.collections.map((descriptor) => this.#add(descriptor).collection);
    this.#stopListening = store.onHistoryReplaced((replaced) => this.#replaceHistory(replaced));
    this.#running = this.#run();
  }

  /** Whether it is loaded and receives changes. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Why it is not synced; undefined during the first load. */
  get syncError(): unknown {
    return this.#syncError;
  }

  /** The cache contains all changes up to this revision. */
  get currentRevision(): Revision {
    return this.#freshness.currentRevision;
  }

  /** How long ago the store last reported its progress, with or without changes. */
  get progressAgeMs(): number {
    return this.#freshness.progressAgeMs;
  }

  /** How many reads wait for the cache. */
  get waitingReads(): number {
    return this.#freshness.waiterCount;
  }

  /** Resolves after the first load. */
  get firstLoad(): Promise<void> {
    return this.#firstLoad.promise;
  }

  /**
   * Adds a collection while the others are served. Resolves when it is loaded, which takes until its keys are available; with
   * `orLost` also when the store cannot be read: then reads of the collection say so. Rejects with a
   * CollectionDetachedError if it is detached before. Its prefix ends with a slash, and neither contains nor is contained in
   * that of another collection.
   */
  async attach(descriptor: CollectionDescriptor<Item>, { orLost = false } = {}): Promise<Collection<Item>> {
    const { state, collection } = this.#add(descriptor);
    // Otherwise the load of all collections includes it, or is followed by its own.
    if (this.#isSynced) this.#loads.begin(state);
    await (orLost ? this.#untilLost(state.firstLoad) : state.firstLoad);
    state.refuseUntilLoaded(
      new StorageUnavailableError('the objects have not been loaded yet', { cause: this.#syncError }),
    );
    return collection;
  }

  async #untilLost(loading: Promise<void>): Promise<void> {
    const lost = Promise.withResolvers<void>();
    const stopListening = onAbort(this.#lost.signal, lost.resolve);
    await Promise.race([loading, lost.promise]).finally(stopListening);
  }

  /** Ends the collection of a prefix: its reads fail, and its subscribers are reset for the last time. */
  detach(prefix: string): void {
    const member = this.#members.get(prefix);
    if (!member) return;
    this.#members.delete(prefix);
    this.#loads.end(member.state);
    member.state.detach(this.currentRevision);
  }

  /** Loads the collections again that lack values, after keys were reloaded or a KMS plugin has recovered. */
  retryUnreadable(): void {
    this.#retries++;
    if (!this.#isSynced) return;
    for (const { state } of this.#members.values()) if (state.lacksValues) this.#loads.begin(state);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#loads.endAll();
    for (const { state } of this.#members.values()) state.close();
    this.#stopListening();
    await this.#running;
  }

  #add(descriptor: CollectionDescriptor<Item>): Member<Item> {
    const { store, clock } = this.#options;
    const { prefix } = descriptor;
    invariant(prefix.endsWith('/'), 'a prefix without a slash at its end is also that of other keys');
    invariant(!this.#members.overlaps(prefix), 'objects of two collections would be taken for each other');
    const state = new CollectionState(descriptor, clock, this.currentRevision);
    const shared = { store, freshness: this.#freshness, clock, places: this.#places };
    const member = { state, collection: new Collection(state, shared) };
    if (this.#historyBegin) member.collection.noteHistory(this.#historyBegin);
    this.#members.set(prefix, member);
    return member;
  }

  async #run(): Promise<void> {
    const { clock, random, report } = this.#options;
    const { signal } = this.#closing;
    const pauses = backoff({ firstMs: restartFirstMs, maxMs: restartMaxMs }, random);
    while (!signal.aborted) {
      try {
        this.#round = new AbortController();
        const ended = AbortSignal.any([signal, this.#round.signal]);
        await this.#follow(await this.#loadWithHistory(ended), ended, () => pauses.reset());
      } catch (cause) {
        if (signal.aborted) return;
        this.#isSynced = false;
        this.#loads.endAll();
        if (!this.#round.signal.aborted) {
          // Reported once, and not with every failed attempt to load again.
          if (String(cause) !== String(this.#syncError)) report({ type: 'lost', cause });
          this.#syncError = cause;
          this.#lost.abort();
        }
      }
      await sleep(clock, pauses.nextMs(), signal).catch(() => {}); // ends early when the server closes
    }
  }

  /** Loads a past state if the store still has it, else the present one. */
  async #loadWithHistory(ended: AbortSignal): Promise<Revision> {
    const { store, clock } = this.#options;
    const latest = await store.readLatestRevision(callUntil(clock.monotonicMs() + latestRevisionTimeoutMs));
    const past = latest - historyRevisions;
    // The cache never goes back behind a state that it has served.
    if (past <= Math.max(1, this.currentRevision, this.#historyStart)) return this.#loadAll(latest, ended);
    try {
      return await this.#loadAll(revision(past), ended);
    } catch (error) {
      if (error instanceof RevisionCompactedError) return this.#loadAll(latest, ended);
      throw error;
    }
  }

  /** Loads all collections at one revision and publishes them together, except for those whose keys are unavailable. */
  async #loadAll(at: Revision, ended: AbortSignal): Promise<Revision> {
    const { clock, report } = this.#options;
    const startedMs = clock.monotonicMs();
    const retriesBefore = this.#retries;
    const publishers: (() => number | undefined)[] = [];
    const missing = this.#members.values();
    const loadNext = async (): Promise<void> => {
      for (const { state } of missing) publishers.push(await this.#loadOrSuspend(state, at, ended));
    };
    await Promise.all(Array.from({ length: concurrentLoads }, loadNext));
    // The history may have been replaced since the last check, in a callback of the same turn.
    ended.throwIfAborted();
    let items = 0;
    for (const publish of publishers) items += publish() ?? 0;
    this.#freshness.setLoaded(at);
    this.#isSynced = true;
    this.#syncError = undefined;
    this.#lost = new AbortController();
    report({ type: 'loaded', items, revision: at, tookMs: clock.monotonicMs() - startedMs });
    this.#firstLoad.resolve();
    // Keys became available during the load, maybe after these values had been read.
    const isRetried = this.#retries > retriesBefore;
    for (const { state } of this.#members.values())
      if (isRetried ? state.lacksValues : !state.isReady && !state.isSuspended) this.#loads.begin(state);
      else if (state.isSuspended) this.#loads.beginLater(state);
    return at;
  }

  async #loadOrSuspend(
    state: CollectionState<Item>,
    at: Revision,
    signal: AbortSignal,
  ): Promise<() => number | undefined> {
    const { store, clock } = this.#options;
    try {
      const { publish } = await state.load({ store, clock, signal, at });
      return () => publish(at);
    } catch (error) {
      if (!(error instanceof CollectionSuspendedError)) throw error;
      return () => {
        this.#loads.suspend(state, error, at);
        return undefined;
      };
    }
  }

  async #follow(from: Revision, ended: AbortSignal, onProgress: () => void): Promise<void> {
    const { store, prefix } = this.#options;
    const needs = (key: string): boolean => this.#members.find(key)?.state.needsChanges === true;
    for await (const set of store.watch(prefix, from, ended, { withPrevious: false, needs })) {
      if (!this.#loop.hasTime('feed')) await this.#loop.turn('feed');
      for (const { key, current } of set.changes) {
        const state = this.#members.find(key)?.state;
        const preparing = current && state?.needsChanges ? state.descriptor.prepare?.(current) : undefined;
        if (preparing) await runInFeed(this.#loop, preparing);
      }
      if (ended.aborted) return;
      onProgress();
      this.#apply(set);
    }
  }

  #apply({ revision: to, changes }: ChangeSet): void {
    let isResponse = true;
    for (const { key, current } of changes) {
      const state = this.#members.find(key)?.state;
      if (!state) continue;
      isResponse = false;
      if (!state.needsChanges) continue;
      if (current?.unreadable?.isPermanent !== false) state.apply(key, current, to);
      else {
        this.#loads.suspend(state, new CollectionSuspendedError(state.descriptor.prefix, current.unreadable), to);
        this.#loads.beginLater(state);
      }
    }
    this.#freshness.advance(to, isResponse);
  }

  #replaceHistory(replaced: HistoryReplaced): void {
    this.#isSynced = false;
    this.#syncError = new HistoryReplacedError();
    this.#historyStart = replaced.now;
    this.#freshness.replaceHistory();
    this.#loads.endAll();
    // If all that was known is compacted, it may be the same history: clients may know later revisions from other replicas.
    const isProven = replaced.reason !== 'compacted';
    const start = revision(isProven ? replaced.now : replaced.before + 1);
    this.#historyBegin = { start, previousEnd: revision(replaced.before), isProven };
    for (const { state, collection } of this.#members.values()) {
      collection.noteHistory(this.#historyBegin);
      state.replaceHistory(revision(replaced.now));
    }
    this.#round.abort();
    this.#options.report({ type: 'history replaced', ...replaced });
  }
}
