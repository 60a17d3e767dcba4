import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { CollectionSuspendedError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Store } from '../store.ts';
import type { CacheItem } from './collection-descriptor.ts';
import { callOf } from './collection-load.ts';
import type { CollectionState } from './collection-state.ts';
import type { Freshness } from './freshness.ts';
import type { WatchCacheEvent } from './watch-cache-event.ts';

/** A load is tried again after such pauses: a plugin that is slow reports no recovery. */
const retryFirstMs = 1_000;
const retryMaxMs = 30_000;

export interface SingleLoadsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
}

/** Loads of single collections while the others are served. */
export class SingleLoads<Item extends CacheItem> {
  readonly #options: SingleLoadsOptions;
  readonly #freshness: Freshness;
  readonly #running = new Map<CollectionState<Item>, AbortController>();

  constructor(options: SingleLoadsOptions, freshness: Freshness) {
    this.#options = options;
    this.#freshness = freshness;
  }

  /** Loads a collection now, from the beginning if it is being loaded, and again and again until it is ready. */
  begin(state: CollectionState<Item>): void {
    this.#begin(state, false);
  }

  /** The same after a pause. Pauses grow while a key is missing: the feed waits for it whenever a load has begun. */
  beginLater(state: CollectionState<Item>): void {
    if (!this.#running.has(state)) this.#begin(state, true);
  }

  #begin(state: CollectionState<Item>, isLater: boolean): void {
    this.end(state);
    const loading = new AbortController();
    this.#running.set(state, loading);
    void this.#loadUntilReady(state, loading.signal, isLater);
  }

  end(state: CollectionState<Item>): void {
    this.#running.get(state)?.abort();
    this.#running.delete(state);
  }

  endAll(): void {
    for (const state of this.#running.keys()) this.end(state);
  }

  suspend(state: CollectionState<Item>, cause: CollectionSuspendedError, now: Revision): void {
    if (state.isDetached) return;
    if (!state.isSuspended) this.#report(state, cause);
    state.suspend(cause, now);
  }

  async #loadUntilReady(state: CollectionState<Item>, signal: AbortSignal, isLater: boolean): Promise<void> {
    const { store, clock, random, report } = this.#options;
    const { prefix } = state.descriptor;
    const pauses = backoff({ firstMs: retryFirstMs, maxMs: retryMaxMs }, random);
    const reach = (to: Revision): Promise<void> => this.#freshness.waitForRevision(to, callOf(signal));
    const pause = (): Promise<void> => sleep(clock, pauses.nextMs(), signal).catch(() => {}); // ends early with the signal
    let reported = state.error && String(state.error);
    if (isLater) await pause();
    while (!signal.aborted) {
      try {
        const { revision, readsMore, publish } = await state.load({ store, clock, signal, at: undefined, reach });
        if (signal.aborted) return;
        // Tried in vain: no watch has to end.
        if (state.isReady && !readsMore()) return this.#discard(state);
        const items = publish(this.#freshness.currentRevision);
        if (items !== undefined) {
          // In the same turn: the feed may suspend the collection at once, and begin another load.
          this.#running.delete(state);
          return report({ type: 'collection loaded', prefix, items, revision });
        }
      } catch (error) {
        if (signal.aborted) return;
        // What is served is complete; it is only not better than before.
        if (state.isReady) return this.#discard(state);
        if (error instanceof CollectionSuspendedError) this.suspend(state, error, this.#freshness.currentRevision);
        else if (String(error) !== reported) this.#report(state, error);
        reported = String(error);
      }
      await pause();
    }
  }

  #discard(state: CollectionState<Item>): void {
    state.endLoad();
    this.#running.delete(state);
  }

  #report({ descriptor: { prefix } }: CollectionState<Item>, cause: unknown): void {
    this.#options.report({ type: 'suspended', prefix, cause });
  }
}
