/**
 * Delays reads of the memory until it is fresh enough: as fresh as everything acknowledged before (a linearizable read),
 * as a revision, or as the writes of this replica.
 */
import type { Clock } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionTooLargeError, StorageUnavailableError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Call, Feed } from '../store.ts';
import { type FreshReader, type ReadObserver, resolveReader } from './fresh-reader.ts';
import { LatestRevisionQuery } from './latest-revision-query.ts';
import { RevisionWaiters } from './revision-waiters.ts';

/** The watch delivers a local write within milliseconds. A read that requires only local writes waits no longer than this. */
const localWritesMaxMs = 100;

export interface FreshnessOptions {
  readonly store: Pick<Feed, 'readLatestRevision' | 'requestProgress' | 'restartWatches'>;
  readonly clock: Clock;
  /** If the memory is behind and has made no progress for this long, its watch restarts. */
  readonly stallMs?: number;
}

export class Freshness {
  readonly #clock: Clock;
  readonly #waiters: RevisionWaiters;
  readonly #query: LatestRevisionQuery;
  /** False from the replacement of etcd's history until the new one has been loaded. */
  #isLoaded = true;

  constructor(options: FreshnessOptions) {
    this.#clock = options.clock;
    this.#waiters = new RevisionWaiters({ ...options, probe: () => this.#query.probe() });
    this.#query = new LatestRevisionQuery({
      ...options,
      onRevision: (latest, readers) => {
        this.requireLoaded();
        if (latest <= this.currentRevision) for (const reader of readers) resolveReader(reader, 0);
        else if (readers.length > 0) this.#waiters.wait(latest, readers);
      },
      onUnavailable: (error, sentMs) => this.#waiters.rejectUnlessMovedSince(sentMs, error),
    });
  }

  /** How long ago the store last reported its progress, with or without changes. */
  get progressAgeMs(): number {
    return this.#waiters.progressAgeMs;
  }

  /** The memory contains all changes up to this revision. */
  get currentRevision(): Revision {
    return this.#waiters.currentRevision;
  }

  /** How many reads wait for the memory. */
  get waiterCount(): number {
    return this.#waiters.count;
  }

  /** etcd has another history: reads fail until it has been loaded. */
  replaceHistory(): void {
    const error = new HistoryReplacedError();
    this.#isLoaded = false;
    this.#query.rejectQueued(error);
    this.#waiters.reset(error);
  }

  /** Throws while the present history has not been loaded. */
  requireLoaded(): void {
    if (!this.#isLoaded) throw new HistoryReplacedError();
  }

  /** Everything was loaded as of this revision. */
  setLoaded(at: Revision): void {
    this.#isLoaded = true;
    this.advance(at, false);
  }

  /** The memory has reached a revision. `isResponse`: nothing has changed, so the store may respond to a request. */
  advance(to: Revision, isResponse: boolean): void {
    this.#waiters.advance(to, isResponse);
  }

  /**
   * Waits for the latest write that this replica has acknowledged; undefined if the memory has it already. If the watch has
   * stalled, it gives up soon and the read gets what there is.
   */
  waitForLocalWrite(lastWrite: Revision, call: Call): Promise<void> | undefined {
    this.requireLoaded();
    const { currentRevision } = this;
    if (lastWrite <= currentRevision && currentRevision > 0) return undefined;
    if (currentRevision === 0) return this.waitForLatest(call);
    if (this.#waiters.hasStalledFor(localWritesMaxMs)) return undefined;
    return new Promise((resolve, reject) => {
      const end = (): void => resolveReader({ call, resolve, reject }, 0);
      const cancel = this.#clock.after(localWritesMaxMs, end);
      const done = (): void => {
        cancel();
        end();
      };
      const arrivedMs = this.#clock.monotonicMs();
      this.#waiters.wait(lastWrite, [{ call, arrivedMs, resolve: done, reject: done }]);
    });
  }

  /** Resolves when the memory contains everything that was acknowledged before. */
  waitForLatest(call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    return this.#withDeadline(call, observe, (reader) => this.#query.add(reader));
  }

  /** Resolves when the memory has reached the revision. Rejects with a RevisionTooLargeError if it is in the future. */
  async waitForRevision(wanted: Revision, call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    if (wanted <= this.currentRevision) return;
    await this.waitForLatest(call, observe);
    if (wanted > this.currentRevision) throw new RevisionTooLargeError(wanted);
  }

  /** Rejects at the call's deadline. Only calls with an early deadline have a timer, because others end before anyway. */
  #withDeadline(call: Call, observe: ReadObserver | undefined, begin: (reader: FreshReader) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const beganMs = this.#clock.monotonicMs();
      const leftMs = call.deadlineMs - beganMs;
      if (leftMs > this.#waiters.waitMaxMs) return begin({ call, arrivedMs: beganMs, observe, resolve, reject });
      let isOver = false;
      // Rounded up, so that the deadline has passed by the clock when the timer fires.
      const cancel = this.#clock.after(Math.max(0, Math.ceil(leftMs)), () => {
        observe?.(this.#clock.monotonicMs() - beganMs, false);
        isOver = true;
        reject(new StorageUnavailableError('the storage did not report its latest revision in time'));
      });
      begin({
        call,
        arrivedMs: beganMs,
        observe: (waitedMs, succeeded) => {
          if (!isOver) observe?.(waitedMs, succeeded);
        },
        resolve: () => {
          cancel();
          resolve();
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
    });
  }
}
