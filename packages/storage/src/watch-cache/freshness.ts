/**
 * How fresh a read is. Asking the quorum costs far more than reading memory, so reads ask together: a read may ride on a
 * question that is sent after it arrived, because what it then sees is at least as new as everything acknowledged
 * before it began; a question already on its way is no use to it.
 */
import { callUntil, type Clock, type Span } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionTooLargeError, StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, Store } from '../store.ts';

/** A question ends by itself long before: the client to etcd knows when waiting has no point. */
const questionTimeoutMs = 60_000;

/** Longer than a write takes from its acknowledgement to the watch: whoever still waits waits for a key of others. */
const askForProgressMs = 4;
const askAgainMs = 100;

/** Whoever has waited for this long, while the memory did not move at all, waits in vain. */
const standstillMaxMs = 10_000;

/** A write from here comes back within milliseconds; whoever wants no fresher state is not kept for longer. */
const ownWritesMs = 100;

/** Told how long a read waited for the memory, and whether in vain. The question to the quorum is not part of it. */
export type ReadObserver = (waitedMs: number, succeeded: boolean) => void;

interface Reader {
  readonly call: Call;
  readonly observe?: ReadObserver | undefined;
  readonly arrive: () => void;
  readonly fail: (error: unknown) => void;
}

interface Waiter extends Reader {
  readonly revision: Revision;
  readonly sinceMs: number;
}

export interface FreshnessOptions {
  readonly store: Pick<Store, 'readLatestRevision' | 'requestProgress' | 'restartWatches'>;
  readonly clock: Clock;
  /** A memory that is known to be behind and has not moved for this long follows nobody: its watch begins anew. */
  readonly stallMs?: number;
}

/** About one election timeout: within that time a member either has a leader again or is of no use. */
const defaultStandstillMs = 1_000;

export class Freshness {
  readonly #store: FreshnessOptions['store'];
  readonly #clock: Clock;
  #readers: Reader[] = [];
  /** A span of one of the readers. */
  #trace: Span | undefined;
  #asking = false;
  #waiters: Waiter[] = [];
  #cancelAsking: (() => void) | undefined;
  #reached = revision(0);
  #told = revision(0);
  /** When the memory moved last, or the first of those who wait came. */
  #movedMs = 0;
  #reopenedMs = 0;
  /** When the store told last how far it is. */
  #progressMs: number;
  /** What was known is of another history, and the present one has not been read yet. */
  #forgotten = false;
  readonly #standstillMs: number;

  constructor({ store, clock, stallMs: standstillMs = defaultStandstillMs }: FreshnessOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#standstillMs = standstillMs;
    this.#progressMs = clock.monotonicMs();
  }

  /** How long ago the store told last how far it is, whether or not there was anything new. */
  get progressAgeMs(): number {
    return this.#clock.monotonicMs() - this.#progressMs;
  }

  /** How far the memory has come. */
  get currentRevision(): Revision {
    return this.#reached;
  }

  /** How many wait for the memory to move on. */
  get waiterCount(): number {
    return this.#waiters.length;
  }

  /** Another history begins: until the memory has been filled from it, nobody is told anything. */
  replaceHistory(): void {
    const error = new HistoryReplacedError();
    this.#forgotten = true;
    this.#reached = revision(0);
    this.#told = revision(0);
    this.#cancelAsking?.();
    const nowMs = this.#clock.monotonicMs();
    for (const reader of this.#readers.splice(0)) refuse(reader, error, 0);
    for (const waiter of this.#waiters.splice(0)) refuse(waiter, error, nowMs - waiter.sinceMs);
  }

  /** Throws while nothing is known of the present history. */
  requireLoaded(): void {
    if (this.#forgotten) throw new HistoryReplacedError();
  }

  /** Everything there is has been read as of this revision. */
  setLoaded(at: Revision): void {
    this.#forgotten = false;
    this.advance(at);
  }

  advance(to: Revision): void {
    this.#reached = to;
    this.#progressMs = this.#clock.monotonicMs();
    if (this.#waiters.length === 0) return;
    this.#movedMs = this.#progressMs;
    const arrived = this.#waiters.filter((waiter) => waiter.revision <= to);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > to);
    if (this.#waiters.length === 0) this.#cancelAsking?.();
    for (const waiter of arrived) answer(waiter, this.#movedMs - waiter.sinceMs);
  }

  /** A write was acknowledged at this revision: from now on nobody here is told less. */
  noteLocalWrite(at: Revision): void {
    if (at > this.#told) this.#told = at;
  }

  /**
   * Undefined at once, or resolves, when the memory has come to all that anybody here was told. That takes a moment, or
   * the watch stands still: then it is as fresh as it can be had without waiting.
   */
  waitForLocalWrites(call: Call): Promise<void> | undefined {
    this.requireLoaded();
    if (this.#told <= this.#reached && this.#reached > 0) return undefined;
    if (this.#reached === 0) return this.waitForLatest(call);
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiters.length > 0 && nowMs - this.#movedMs > ownWritesMs) return undefined;
    return new Promise((arrive, fail) => {
      const end = (): void => answer({ call, arrive, fail }, 0);
      const cancel = this.#clock.after(ownWritesMs, end);
      const done = (): void => {
        cancel();
        end();
      };
      this.#waitFor(this.#told, [{ call, arrive: done, fail: done }]);
    });
  }

  /** Resolves when the memory has come to everything that was acknowledged before. */
  waitForLatest(call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    return this.#within(call, observe, (reader) => {
      this.#readers.push(reader);
      this.#trace ??= call.trace;
      this.#ask();
    });
  }

  /** Resolves when the memory has come to the revision; throws RevisionTooLargeError when it lies in the future. */
  async waitForRevision(wanted: Revision, call: Call, observe?: ReadObserver): Promise<void> {
    this.requireLoaded();
    if (wanted <= this.#reached) return;
    await this.waitForLatest(call, observe);
    if (wanted > this.#reached) throw new RevisionTooLargeError(wanted);
  }

  /** One question at a time: while it is answered the next one gathers its readers. */
  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    // Those that arrive in the same turn of the event loop ask together.
    this.#clock.soon(() => void this.#askFor(this.#readers.splice(0)));
  }

  async #askFor(readers: readonly Reader[]): Promise<void> {
    try {
      // The shared read is in one trace: that of the first sampled reader.
      const trace = this.#trace;
      this.#trace = undefined;
      const head = await this.#store.readLatestRevision(
        callUntil(this.#clock.monotonicMs() + questionTimeoutMs, trace),
      );
      this.requireLoaded();
      if (head <= this.#reached) for (const reader of readers) answer(reader, 0);
      else this.#waitFor(head, readers);
    } catch (error) {
      for (const reader of readers) refuse(reader, error, 0);
      // Whoever waits for the next question has waited with this one, and would otherwise do so twice.
      if (error instanceof StorageUnavailableError)
        for (const reader of this.#readers.splice(0)) refuse(reader, error, 0);
    }
    this.#asking = false;
    if (this.#readers.length > 0) this.#ask();
  }

  #waitFor(head: Revision, readers: readonly Reader[]): void {
    const sinceMs = this.#clock.monotonicMs();
    if (this.#waiters.length === 0) {
      this.#movedMs = sinceMs;
      this.#askForProgress(askForProgressMs);
    }
    for (const reader of readers) this.#waiters.push({ ...reader, revision: head, sinceMs });
  }

  #askForProgress(afterMs: number): void {
    this.#cancelAsking = this.#clock.after(afterMs, () => {
      const nowMs = this.#clock.monotonicMs();
      this.#failStuck(nowMs);
      this.#dropAborted();
      if (this.#waiters.length === 0) return;
      const standsStillSinceMs = Math.max(this.#movedMs, this.#reopenedMs);
      if (nowMs - standsStillSinceMs > this.#standstillMs) {
        this.#reopenedMs = nowMs;
        this.#store.restartWatches();
      }
      this.#store.requestProgress();
      this.#askForProgress(askAgainMs);
    });
  }

  /** Who has left waits for nothing. Looked for from time to time, because most waits are shorter than that. */
  #dropAborted(): void {
    const aborted = this.#waiters.filter(({ call }) => call.isAborted);
    if (aborted.length === 0) return;
    this.#waiters = this.#waiters.filter(({ call }) => !call.isAborted);
    for (const reader of aborted) answer(reader, 0);
  }

  /** Each by its own time: whoever came a moment ago has waited for nothing yet. */
  #failStuck(nowMs: number): void {
    const stuck = (waiter: Waiter): boolean => nowMs - Math.max(waiter.sinceMs, this.#movedMs) > standstillMaxMs;
    const failed = this.#waiters.filter(stuck);
    if (failed.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !stuck(waiter));
    const error = new StorageUnavailableError(`the watch of the storage has not come beyond ${this.#reached}`);
    for (const waiter of failed) refuse(waiter, error, nowMs - waiter.sinceMs);
  }

  /** Ends early with the call. Hardly any call ends before its question does, and those alone pay for a timer. */
  #within(call: Call, observe: ReadObserver | undefined, begin: (reader: Reader) => void): Promise<void> {
    return new Promise((arrive, fail) => {
      const beganMs = this.#clock.monotonicMs();
      const leftMs = call.deadlineMs - beganMs;
      if (leftMs > standstillMaxMs) return begin({ call, observe, arrive, fail });
      let isOver = false;
      // Not before the deadline, so that whoever looks at the clock then finds it passed.
      const cancel = this.#clock.after(Math.max(0, Math.ceil(leftMs)), () => {
        observe?.(this.#clock.monotonicMs() - beganMs, false);
        isOver = true;
        fail(new StorageUnavailableError('the storage did not tell in time how far it is'));
      });
      begin({
        call,
        observe: (waitedMs, succeeded) => {
          if (!isOver) observe?.(waitedMs, succeeded);
        },
        arrive: () => {
          cancel();
          arrive();
        },
        fail: (error) => {
          cancel();
          fail(error);
        },
      });
    });
  }
}

/** What follows the wait is not done for a caller who has left. */
function answer({ call, observe, arrive, fail }: Reader, waitedMs: number): void {
  if (call.isAborted) return fail(call.signal?.reason);
  observe?.(waitedMs, true);
  arrive();
}

function refuse({ observe, fail }: Reader, error: unknown, waitedMs: number): void {
  observe?.(waitedMs, false);
  fail(error);
}
