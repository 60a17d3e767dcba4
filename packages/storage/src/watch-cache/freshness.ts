/**
 * Delays reads of the memory until it is fresh enough: as fresh as everything acknowledged before (a linearizable read),
 * as a revision, or as the writes of this replica.
 *
 * A linearizable read waits for a query of the latest revision, and then until the memory has reached it. Readers share a
 * query that is sent after they arrived; one in flight could be older than a write that was acknowledged since.
 */
import { callUntil, type Clock, Coalescer, type Span } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionTooLargeError, StorageUnavailableError } from '../errors.ts';
import { type Revision, zeroRevision } from '../revision.ts';
import type { Call, Feed } from '../store.ts';
import { Reader, type ReadObserver } from './reader.ts';

/** The watch delivers a local write within milliseconds. A read that requires only local writes waits no longer than this. */
const localWritesMaxMs = 100;

/**
 * A query that has been in flight for longer does not hold up later readers: theirs is sent beside it. An idle etcd answers
 * sooner. Under load, the response waits for the next iteration of the event loop, and so would theirs after that.
 */
const overlapMs = 2;

/**
 * A reader that has waited this long for a query in flight fails with it. All others get a query of their own, which fails
 * within half a second if there is an outage.
 */
const queuedMaxMs = 1_000;

/** While etcd does not respond, further readers queue behind so many queries. */
const inFlightMax = 4;

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

export interface FreshnessOptions {
  readonly store: Pick<Feed, 'readLatestRevision' | 'requestProgress' | 'restartWatches'>;
  readonly clock: Clock;
  /** If the memory is behind and has made no progress for this long, its watch restarts. */
  readonly stallMs?: number;
}

export class Freshness {
  readonly #store: FreshnessOptions['store'];
  readonly #clock: Clock;
  readonly #stallMs: number;
  /** False from the replacement of etcd's history until the new one has been loaded. */
  #isLoaded = true;
  #currentRevision = zeroRevision;

  /** Readers that arrived since the last query was sent, and a span of one of them. */
  #queued: Reader[] = [];
  #trace: Span | undefined;
  /** Readers that arrive at about the same time share the query. */
  readonly #starts: Coalescer;
  #inFlight = 0;
  #sentMs = Number.NEGATIVE_INFINITY;

  /** Readers whose revision the memory has not reached. */
  #waiting: Reader[] = [];
  /** When the memory last made progress, or the first of the waiting readers came. */
  #movedMs = 0;
  #restartedMs = 0;
  #requestedMs = Number.NEGATIVE_INFINITY;
  /** When the store last reported its progress. */
  #progressMs: number;
  #cancelCheck: (() => void) | undefined;

  constructor({ store, clock, stallMs = defaultStallMs }: FreshnessOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#starts = new Coalescer(clock, () => void this.#query(this.#queued.splice(0)));
    this.#progressMs = clock.monotonicMs();
  }

  /** The memory contains all changes up to this revision. */
  get currentRevision(): Revision {
    return this.#currentRevision;
  }

  /** How long ago the store last reported its progress, with or without changes. */
  get progressAgeMs(): number {
    return this.#clock.monotonicMs() - this.#progressMs;
  }

  /** How many reads wait for the memory. */
  get waiterCount(): number {
    return this.#waiting.length;
  }

  /** etcd has another history: reads fail until it has been loaded. */
  replaceHistory(): void {
    const error = new HistoryReplacedError();
    this.#isLoaded = false;
    this.#currentRevision = zeroRevision;
    for (const reader of this.#queued.splice(0)) reader.reject(error, 0);
    this.#reject(() => true, error);
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

  /**
   * The memory has reached a revision; without changes since the last time, the same one. `isResponse`: nothing has changed,
   * so the store may respond to a request.
   */
  advance(to: Revision, isResponse: boolean): void {
    this.#progressMs = this.#clock.monotonicMs();
    if (to !== this.#currentRevision) this.#moveTo(to);
    if (isResponse) this.#scheduleNextRequest();
  }

  /**
   * Waits for the latest write that this replica has acknowledged; undefined if the memory has it already. If the watch has
   * stalled, it gives up soon and the read gets what there is.
   */
  waitForLocalWrite(lastWrite: Revision, call: Call): Promise<void> | undefined {
    this.requireLoaded();
    if (this.#currentRevision === 0) return this.waitForLatest(call);
    if (lastWrite <= this.#currentRevision) return undefined;
    const hasStalled = this.#waiting.length > 0 && this.#clock.monotonicMs() - this.#movedMs > localWritesMaxMs;
    if (hasStalled) return undefined;
    return new Promise((resolve, reject) => {
      const reader = new Reader(call, this.#clock, resolve, (error) => (call.isAborted ? reject(error) : resolve()));
      reader.endAfter(localWritesMaxMs, () => reader.resolve(0));
      this.#wait(lastWrite, [reader]);
    });
  }

  /** Resolves when the memory contains everything that was acknowledged before. */
  waitForLatest(call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    return new Promise((resolve, reject) => {
      const reader = new Reader(call, this.#clock, resolve, reject, observe);
      // Only calls with an early deadline have a timer, because others end before anyway.
      const leftMs = call.deadlineMs - reader.arrivedMs;
      if (leftMs <= Math.max(loadMaxMs, stallsMax * this.#stallMs))
        reader.endAfter(leftMs, () => {
          const error = new StorageUnavailableError('the storage did not report its latest revision in time');
          reader.reject(error, this.#clock.monotonicMs() - reader.arrivedMs);
        });
      this.#queued.push(reader);
      this.#trace ??= call.trace;
      this.#sendForQueued();
    });
  }

  /** Resolves when the memory has reached the revision. Rejects with a RevisionTooLargeError if it is in the future. */
  async waitForRevision(wanted: Revision, call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    if (wanted <= this.#currentRevision) return;
    await this.waitForLatest(call, observe);
    if (wanted > this.#currentRevision) throw new RevisionTooLargeError(wanted);
  }

  /** The end of a query in flight calls this again for those who have to wait. */
  #sendForQueued(): void {
    if (this.#inFlight === inFlightMax) return;
    if (this.#inFlight > 0 && this.#clock.monotonicMs() - this.#sentMs < overlapMs) return;
    this.#starts.request();
  }

  async #query(readers: readonly Reader[]): Promise<void> {
    const sentMs = this.#clock.monotonicMs();
    this.#sentMs = sentMs;
    this.#inFlight++;
    try {
      // The query belongs to one trace: that of the first sampled reader.
      const trace = this.#trace;
      this.#trace = undefined;
      // The etcd client gives up by itself.
      const latest = await this.#store.readLatestRevision(callUntil(Number.POSITIVE_INFINITY, trace));
      this.requireLoaded();
      if (latest <= this.#currentRevision) for (const reader of readers) reader.resolve(0);
      else if (readers.length > 0) this.#wait(latest, readers);
    } catch (error) {
      for (const reader of readers) reader.reject(error, 0);
      if (error instanceof StorageUnavailableError) this.#noteUnavailable(error, sentMs);
    }
    this.#inFlight--;
    if (this.#queued.length > 0) this.#sendForQueued();
  }

  /** etcd did not respond to a query that was sent then. */
  #noteUnavailable(error: StorageUnavailableError, sentMs: number): void {
    const longSinceMs = this.#clock.monotonicMs() - queuedMaxMs;
    const rejected = this.#queued.filter(({ arrivedMs }) => arrivedMs <= longSinceMs);
    this.#queued = this.#queued.filter(({ arrivedMs }) => arrivedMs > longSinceMs);
    for (const reader of rejected) reader.reject(error, 0);
    // Without progress since then, what the others wait for cannot arrive either.
    if (this.#movedMs <= sentMs) this.#reject(({ sinceMs }) => sinceMs <= sentMs, error);
  }

  #wait(until: Revision, readers: readonly Reader[]): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiting.length === 0) {
      this.#movedMs = nowMs;
      this.#scheduleCheck(progressRequestMs);
    }
    for (const reader of readers) {
      reader.revision = until;
      reader.sinceMs = nowMs;
      this.#waiting.push(reader);
    }
  }

  #moveTo(to: Revision): void {
    this.#currentRevision = to;
    if (this.#waiting.length === 0) return;
    this.#movedMs = this.#progressMs;
    const arrived = this.#waiting.filter(({ revision }) => revision <= to);
    this.#keepWaiting(({ revision }) => revision > to);
    for (const reader of arrived) reader.resolve(this.#movedMs - reader.sinceMs);
  }

  #reject(isRejected: (reader: Reader) => boolean, error: unknown): void {
    const rejected = this.#waiting.filter(isRejected);
    this.#keepWaiting((reader) => !isRejected(reader));
    const nowMs = this.#clock.monotonicMs();
    for (const reader of rejected) reader.reject(error, nowMs - reader.sinceMs);
  }

  #keepWaiting(isKept: (reader: Reader) => boolean): void {
    this.#waiting = this.#waiting.filter(isKept);
    if (this.#waiting.length === 0) this.#cancelCheck?.();
  }

  /** The request that was answered was sent before some readers came, or to a member that lags behind. */
  #scheduleNextRequest(): void {
    const [oldest] = this.#waiting;
    if (!oldest) return;
    const dueMs = Math.max(oldest.sinceMs + progressRequestMs, this.#requestedMs + progressRequestPauseMs);
    this.#cancelCheck?.();
    this.#scheduleCheck(Math.max(0, Math.ceil(dueMs - this.#progressMs)));
  }

  #scheduleCheck(afterMs: number): void {
    this.#cancelCheck = this.#clock.after(afterMs, () => this.#check());
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#rejectStalled(nowMs);
    // Checked from time to time only, because most waits are shorter.
    const aborted = this.#waiting.filter(({ call }) => call.isAborted);
    this.#keepWaiting(({ call }) => !call.isAborted);
    for (const reader of aborted) reader.abandon();
    if (this.#waiting.length === 0) return;
    if (nowMs - Math.max(this.#movedMs, this.#restartedMs) > this.#stallMs) {
      this.#restartedMs = nowMs;
      this.#store.restartWatches();
    }
    this.#requestedMs = nowMs;
    this.#store.requestProgress();
    // Without a quorum their revisions cannot arrive.
    if (nowMs - this.#movedMs >= progressRequestIntervalMs && this.#inFlight === 0) this.#starts.request();
    this.#scheduleCheck(progressRequestIntervalMs);
  }

  /** Each reader has its own time limit: one that has just arrived is not rejected with the others. */
  #rejectStalled(nowMs: number): void {
    const limitMs = this.#currentRevision === 0 ? loadMaxMs : stallsMax * this.#stallMs;
    const hasStalled = ({ sinceMs }: Reader): boolean => nowMs - Math.max(sinceMs, this.#movedMs) > limitMs;
    if (!this.#waiting.some(hasStalled)) return;
    const why = `the storage watch has made no progress since revision ${this.#currentRevision}`;
    this.#reject(hasStalled, new StorageUnavailableError(why));
  }
}
