import type { Clock } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Feed } from '../store.ts';
import { type FreshReader, rejectReader, resolveReader } from './fresh-reader.ts';

/** Longer than the watch takes to deliver an acknowledged write. A longer wait is for a key outside the watched prefix. */
const progressRequestMs = 4;

/** Between two requests. The next one is for readers whose revision was reached after the one before had been answered. */
const progressRequestPauseMs = 2;

/** A request without a response, such as on a lost connection, is repeated after this time. */
const progressRequestIntervalMs = 100;

/** A reader that has waited this long for the first load is rejected. */
const loadMaxMs = 10_000;

/** About one election timeout: within that time a member either has a leader again or is of no use. */
const defaultStallMs = 1_000;

/**
 * A reader that has waited for this many stalls without any progress of the memory is rejected. A revision that a lost leader
 * has reported can be delivered once there is another one, which takes up to three election timeouts.
 */
const stallsMax = 3;

export interface RevisionWaitersOptions {
  readonly store: Pick<Feed, 'requestProgress' | 'restartWatches'>;
  readonly clock: Clock;
  /** If the memory is behind and has made no progress for this long, its watch restarts. */
  readonly stallMs?: number;
  /** Asks whether etcd responds; called repeatedly while readers wait without any progress of the memory. */
  readonly probe: () => void;
}

interface Waiter extends FreshReader {
  readonly revision: Revision;
  readonly sinceMs: number;
}

/** The revision of the memory, and the readers that wait for a later one. */
export class RevisionWaiters {
  readonly #store: RevisionWaitersOptions['store'];
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #probe: () => void;
  #currentRevision = revision(0);
  #waiters: Waiter[] = [];
  /** When the memory last made progress, or the first of the present waiters arrived. */
  #movedMs = 0;
  #restartedMs = 0;
  #requestedMs = Number.NEGATIVE_INFINITY;
  /** When the store last reported its progress. */
  #progressMs: number;
  #cancelTimer: (() => void) | undefined;

  constructor({ store, clock, stallMs = defaultStallMs, probe }: RevisionWaitersOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#probe = probe;
    this.#progressMs = clock.monotonicMs();
  }

  get currentRevision(): Revision {
    return this.#currentRevision;
  }

  get count(): number {
    return this.#waiters.length;
  }

  /** No reader waits longer than this without any progress. */
  get waitMaxMs(): number {
    return Math.max(loadMaxMs, stallsMax * this.#stallMs);
  }

  /** How long ago the store last reported its progress, with or without changes. */
  get progressAgeMs(): number {
    return this.#clock.monotonicMs() - this.#progressMs;
  }

  /** Whether readers have been waiting for so long without any progress. */
  hasStalledFor(forMs: number): boolean {
    return this.#waiters.length > 0 && this.#clock.monotonicMs() - this.#movedMs > forMs;
  }

  wait(until: Revision, readers: readonly FreshReader[]): void {
    const sinceMs = this.#clock.monotonicMs();
    if (this.#waiters.length === 0) {
      this.#movedMs = sinceMs;
      this.#scheduleCheck(progressRequestMs);
    }
    for (const reader of readers) this.#waiters.push({ ...reader, revision: until, sinceMs });
  }

  /**
   * The store has reported its progress; without changes since the last time, at the same revision. `isResponse`: it may
   * have been requested, because it contains no change.
   */
  advance(to: Revision, isResponse: boolean): void {
    this.#progressMs = this.#clock.monotonicMs();
    if (to !== this.#currentRevision) this.#moveTo(to);
    if (isResponse) this.#scheduleNextRequest();
  }

  #moveTo(to: Revision): void {
    this.#currentRevision = to;
    if (this.#waiters.length === 0) return;
    this.#movedMs = this.#progressMs;
    const arrived = this.#waiters.filter((waiter) => waiter.revision <= to);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > to);
    if (this.#waiters.length === 0) this.#cancelTimer?.();
    for (const waiter of arrived) resolveReader(waiter, this.#movedMs - waiter.sinceMs);
  }

  /** Rejects the readers that have been waiting since then, unless the memory has made progress meanwhile. */
  rejectUnlessMovedSince(thenMs: number, error: unknown): void {
    if (this.#movedMs <= thenMs) this.#reject(({ sinceMs }) => sinceMs <= thenMs, error);
  }

  /** Rejects all readers and starts again at revision 0. */
  reset(error: unknown): void {
    this.#currentRevision = revision(0);
    this.#reject(() => true, error);
  }

  #reject(isRejected: (waiter: Waiter) => boolean, error: unknown): void {
    const rejected = this.#waiters.filter(isRejected);
    this.#waiters = this.#waiters.filter((waiter) => !isRejected(waiter));
    if (this.#waiters.length === 0) this.#cancelTimer?.();
    const nowMs = this.#clock.monotonicMs();
    for (const waiter of rejected) rejectReader(waiter, error, nowMs - waiter.sinceMs);
  }

  /** The request that was answered was sent before some readers came, or to a member that lags behind. */
  #scheduleNextRequest(): void {
    const [oldest] = this.#waiters;
    if (!oldest) return;
    const dueMs = Math.max(oldest.sinceMs + progressRequestMs, this.#requestedMs + progressRequestPauseMs);
    this.#cancelTimer?.();
    this.#scheduleCheck(Math.max(0, Math.ceil(dueMs - this.#progressMs)));
  }

  #scheduleCheck(afterMs: number): void {
    this.#cancelTimer = this.#clock.after(afterMs, () => {
      const nowMs = this.#clock.monotonicMs();
      this.#rejectStalled(nowMs);
      this.#rejectAborted();
      if (this.#waiters.length === 0) return;
      if (nowMs - Math.max(this.#movedMs, this.#restartedMs) > this.#stallMs) {
        this.#restartedMs = nowMs;
        this.#store.restartWatches();
      }
      this.#requestedMs = nowMs;
      this.#store.requestProgress();
      if (nowMs - this.#movedMs >= progressRequestIntervalMs) this.#probe();
      this.#scheduleCheck(progressRequestIntervalMs);
    });
  }

  /** Checked from time to time only, because most waits are shorter. */
  #rejectAborted(): void {
    const aborted = this.#waiters.filter(({ call }) => call.isAborted);
    if (aborted.length === 0) return;
    this.#waiters = this.#waiters.filter(({ call }) => !call.isAborted);
    for (const waiter of aborted) resolveReader(waiter, 0);
  }

  /** Each reader has its own time limit: one that has just arrived is not rejected with the others. */
  #rejectStalled(nowMs: number): void {
    const limitMs = this.#currentRevision === 0 ? loadMaxMs : stallsMax * this.#stallMs;
    const hasStalled = ({ sinceMs }: Waiter): boolean => nowMs - Math.max(sinceMs, this.#movedMs) > limitMs;
    if (!this.#waiters.some(hasStalled)) return;
    const why = `the storage watch has made no progress since revision ${this.#currentRevision}`;
    this.#reject(hasStalled, new StorageUnavailableError(why));
  }
}
