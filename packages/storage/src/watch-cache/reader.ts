import type { Clock } from '@cluster-apiserver/base';
import { zeroRevision } from '../revision.ts';
import type { Call } from '../store.ts';

/** Called with how long a read waited for the memory, and whether it succeeded. The linearizable read is not included. */
export type ReadObserver = (waitedMs: number, succeeded: boolean) => void;

/** A read that waits until the memory is fresh enough. Only its first end counts. */
export class Reader {
  readonly call: Call;
  readonly arrivedMs: number;
  /** What it waits for, and since when; once the latest revision is known. */
  revision = zeroRevision;
  sinceMs = 0;
  readonly #clock: Clock;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #observe: ReadObserver | undefined;
  #cancelTimer = (): void => {};
  #isOver = false;

  constructor(call: Call, clock: Clock, resolve: () => void, reject: (error: unknown) => void, observe?: ReadObserver) {
    this.call = call;
    this.arrivedMs = clock.monotonicMs();
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#observe = observe;
  }

  /** Rounded up, so that a deadline has passed by the clock when the timer fires. */
  endAfter(delayMs: number, end: () => void): void {
    this.#cancelTimer = this.#clock.after(Math.max(0, Math.ceil(delayMs)), end);
  }

  /** The memory is fresh enough. */
  resolve(waitedMs: number): void {
    if (this.call.isAborted) return this.abandon();
    if (!this.#end()) return;
    this.#observe?.(waitedMs, true);
    this.#resolve();
  }

  reject(error: unknown, waitedMs: number): void {
    if (!this.#end()) return;
    this.#observe?.(waitedMs, false);
    this.#reject(error);
  }

  /** Its caller is gone, and does no further work. */
  abandon(): void {
    if (this.#end()) this.#reject(this.call.signal?.reason);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#cancelTimer();
    return true;
  }
}
