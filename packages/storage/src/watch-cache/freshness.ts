/**
 * How fresh a read is. Asking the quorum costs far more than reading memory, so reads ask together: a read may ride on a
 * question that is sent after it arrived, because what it then sees is at least as new as everything acknowledged
 * before it began; a question already on its way is no use to it.
 */
import { callUntil, type Clock } from '@cluster-apiserver/base';
import { RevisionTooLargeError, StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, Store } from '../store.ts';

/** A question ends by itself long before: the client to etcd knows when waiting has no point. */
const questionTimeoutMs = 60_000;

/** Longer than a write takes from its acknowledgement to the watch: whoever still waits waits for a key of others. */
const askForProgressMs = 4;
const askAgainMs = 100;

/** A watch that is so far behind its store is broken in a way that it has not noticed. */
const behindMaxMs = 10_000;

interface Reader {
  readonly call: Call;
  readonly arrive: () => void;
  readonly fail: (error: unknown) => void;
}

interface Waiter extends Reader {
  readonly revision: Revision;
}

export interface FreshnessOptions {
  readonly store: Pick<Store, 'head' | 'askForProgress'>;
  readonly clock: Clock;
}

export class Freshness {
  readonly #store: FreshnessOptions['store'];
  readonly #clock: Clock;
  #readers: Reader[] = [];
  #asking = false;
  #waiters: Waiter[] = [];
  #cancelAsking: (() => void) | undefined;
  #reached = revision(0);
  #told = revision(0);

  constructor({ store, clock }: FreshnessOptions) {
    this.#store = store;
    this.#clock = clock;
  }

  /** How far the memory has come. */
  get reached(): Revision {
    return this.#reached;
  }

  advance(to: Revision): void {
    this.#reached = to;
    if (this.#waiters.length === 0) return;
    const arrived = this.#waiters.filter((waiter) => waiter.revision <= to);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > to);
    if (this.#waiters.length === 0) this.#cancelAsking?.();
    for (const reader of arrived) answer(reader);
  }

  /** A write was acknowledged at this revision: from now on nobody here is told less. */
  wrote(at: Revision): void {
    if (at > this.#told) this.#told = at;
  }

  /** Undefined at once, or resolves, when the memory has come to all that anybody here was told. */
  told(call: Call): Promise<void> | undefined {
    if (this.#told <= this.#reached && this.#reached > 0) return undefined;
    if (this.#reached === 0) return this.newest(call);
    return this.#within(call, (reader) => this.#waitFor(this.#told, [reader]));
  }

  /** Resolves when the memory has come to everything that was acknowledged before. */
  newest(call: Call): Promise<void> {
    return this.#within(call, (reader) => {
      this.#readers.push(reader);
      this.#ask();
    });
  }

  /** Resolves when the memory has come to the revision; throws RevisionTooLargeError when it lies in the future. */
  async atLeast(wanted: Revision, call: Call): Promise<void> {
    if (wanted <= this.#reached) return;
    await this.newest(call);
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
      const head = await this.#store.head(callUntil(this.#clock.monotonicMs() + questionTimeoutMs));
      if (head <= this.#reached) for (const reader of readers) answer(reader);
      else this.#waitFor(head, readers);
    } catch (error) {
      for (const { fail } of readers) fail(error);
      // Whoever waits for the next question has waited with this one, and would otherwise do so twice.
      if (error instanceof StorageUnavailableError) for (const { fail } of this.#readers.splice(0)) fail(error);
    }
    this.#asking = false;
    if (this.#readers.length > 0) this.#ask();
  }

  #waitFor(head: Revision, readers: readonly Reader[]): void {
    if (this.#waiters.length === 0) this.#askForProgress(askForProgressMs, this.#clock.monotonicMs());
    for (const reader of readers) this.#waiters.push({ ...reader, revision: head });
  }

  #askForProgress(afterMs: number, sinceMs: number): void {
    this.#cancelAsking = this.#clock.after(afterMs, () => {
      if (this.#clock.monotonicMs() - sinceMs > behindMaxMs) return this.#giveUp();
      this.#dropAborted();
      if (this.#waiters.length === 0) return;
      this.#store.askForProgress();
      this.#askForProgress(askAgainMs, sinceMs);
    });
  }

  /** Who has left waits for nothing. Looked for from time to time, because most waits are shorter than that. */
  #dropAborted(): void {
    const aborted = this.#waiters.filter(({ call }) => call.isAborted);
    if (aborted.length === 0) return;
    this.#waiters = this.#waiters.filter(({ call }) => !call.isAborted);
    for (const reader of aborted) answer(reader);
  }

  #giveUp(): void {
    const error = new StorageUnavailableError(`the watch of the storage has not come beyond ${this.#reached}`);
    for (const { fail } of this.#waiters.splice(0)) fail(error);
  }

  /** Ends early with the call. Hardly any call ends before its question does, and those alone pay for a timer. */
  #within(call: Call, begin: (reader: Reader) => void): Promise<void> {
    return new Promise((arrive, fail) => {
      const leftMs = call.deadlineMs - this.#clock.monotonicMs();
      if (leftMs > behindMaxMs) return begin({ call, arrive, fail });
      // Not before the deadline, so that whoever looks at the clock then finds it passed.
      const cancel = this.#clock.after(Math.max(0, Math.ceil(leftMs)), () =>
        fail(new StorageUnavailableError('the storage did not tell in time how far it is')),
      );
      begin({
        call,
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
function answer({ call, arrive, fail }: Reader): void {
  if (call.isAborted) fail(call.signal?.reason);
  else arrive();
}
