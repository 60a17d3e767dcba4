/**
 * What goes along with a piece of work from the socket to etcd: until when it is worth doing, whether somebody still
 * waits for it, and which trace it is part of. Whatever waits honours both the deadline and the signal. Work that
 * several callers share takes a call of its own (`detached`), and each of them waits for it with `withinCall`.
 */
import type { Clock } from './clock.ts';
import type { LatencyTracker } from './latency.ts';
import { endAfter, type Span, type SpanOptions } from './trace.ts';

export interface Call {
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  /**
   * Aborts when the caller has left or the deadline has passed. Undefined where nobody can leave: then only the deadline
   * counts. Made on first use, so only what really waits should ask for it.
   */
  readonly signal: AbortSignal | undefined;
  /** Whether the caller has left: what a check between two steps asks instead of making a signal. */
  readonly isAborted: boolean;
  /** The span that the work is part of; undefined where the request is not sampled. */
  readonly trace: Span | undefined;
  /** Where waits of the request are noted; undefined for work that is not one request's alone. */
  readonly latency?: LatencyTracker | undefined;
}

export class DeadlineExceededError extends Error {
  override readonly name = 'DeadlineExceededError';
  constructor() {
    super('the deadline of the call has passed');
  }
}

/** A call of the server itself: nobody waits for it who could leave. */
export const callUntil = (deadlineMs: number, trace?: Span): Call => ({
  deadlineMs,
  signal: undefined,
  isAborted: false,
  trace,
});

/** The same work without its caller: it goes on when he leaves, because others share it or must learn how it ended. */
export const detached = ({ deadlineMs, trace }: Call): Call => callUntil(deadlineMs, trace);

/** Where a call comes from, such as a request on a socket. */
export interface Caller {
  readonly isAborted: boolean;
  /** Aborts when the caller has left. */
  readonly signal: AbortSignal;
  /** Calls back once, when the caller has its answer or has left. */
  onEnd(listener: () => void): void;
}

/** Timers take 31 bits; nobody waits that long. */
const timerMsMax = 2 ** 31 - 1;

/** What has a span now, or will have one when it is known who the caller is. */
export interface Traced {
  readonly span: Span | undefined;
}

/**
 * The call of a request. A class and no literal: a literal with a getter has a shape of its own each time. The signal is
 * made on first use, which most requests never do.
 */
export class RequestCall implements Call {
  readonly deadlineMs: number;
  readonly latency: LatencyTracker | undefined;
  readonly #caller: Caller;
  readonly #clock: Clock;
  readonly #traced: Traced | undefined;
  #ending: AbortController | undefined;

  constructor(
    caller: Caller,
    clock: Clock,
    deadlineMs: number,
    { traced, latency }: { traced?: Traced | undefined; latency?: LatencyTracker | undefined } = {},
  ) {
    this.deadlineMs = deadlineMs;
    this.latency = latency;
    this.#caller = caller;
    this.#clock = clock;
    this.#traced = traced;
  }

  get signal(): AbortSignal {
    if (!this.#ending) this.#ending = this.#end();
    return this.#ending.signal;
  }

  get isAborted(): boolean {
    return this.#caller.isAborted || this.#ending?.signal.aborted === true;
  }

  get trace(): Span | undefined {
    return this.#traced?.span;
  }

  /** The same request, with less time for a part of its work. */
  until(deadlineMs: number): RequestCall {
    return this.#part(Math.min(this.deadlineMs, deadlineMs), this.#traced);
  }

  /** The same request, for a part of its work that has a span of its own. */
  within(span: Span): RequestCall {
    return this.#part(this.deadlineMs, { span });
  }

  #part(deadlineMs: number, traced: Traced | undefined): RequestCall {
    return new RequestCall(this.#caller, this.#clock, deadlineMs, { traced, latency: this.latency });
  }

  #end(): AbortController {
    const ending = new AbortController();
    const { signal } = this.#caller;
    const left = (): void => ending.abort(signal.reason);
    if (signal.aborted) left();
    else signal.addEventListener('abort', left, { once: true });
    const leftMs = this.deadlineMs - this.#clock.monotonicMs();
    if (leftMs <= timerMsMax) {
      // Rounded up, so that whoever looks at the clock then finds the deadline passed.
      const cancel = this.#clock.after(Math.max(0, Math.ceil(leftMs)), () => ending.abort(new DeadlineExceededError()));
      this.#caller.onEnd(cancel);
    }
    return ending;
  }
}

/** The same call, with less time for a part of its work. */
export const withDeadline = (call: Call, deadlineMs: number): Call =>
  call instanceof RequestCall
    ? call.until(deadlineMs)
    : {
        ...detached(call),
        signal: call.signal,
        latency: call.latency,
        deadlineMs: Math.min(call.deadlineMs, deadlineMs),
      };

/** The same call, for a part of its work that has a span of its own. */
export const withSpan = (call: Call, span: Span): Call =>
  call instanceof RequestCall
    ? call.within(span)
    : { ...detached(call), signal: call.signal, isAborted: call.isAborted, latency: call.latency, trace: span };

/** Does work in a span of its own where the request is sampled, and otherwise nothing but the work. */
export function inSpan<T>(call: Call, name: string, work: (call: Call) => T, options?: SpanOptions): T {
  const span = call.trace?.child(name, options);
  return span ? endAfter(span, () => work(withSpan(call, span))) : work(call);
}

/** Before the next step of work that nobody waits for any more. Throws what ended the call. */
export function throwIfAborted(call: Call): void {
  if (call.isAborted) throw call.signal?.reason;
}

/** Waits for work, but no longer than the call lasts. The work goes on; others may share it. */
export function withinCall<T>(clock: Clock, call: Call, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let ended = (): void => {};
    // First of all: work that fails while nobody listens would end the process.
    work.then(
      (value) => {
        ended();
        resolve(value);
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
    const { signal } = call;
    const aborted = (): void => reject(signal?.reason);
    if (signal?.aborted) aborted();
    signal?.addEventListener('abort', aborted, { once: true });
    // A signal knows the deadline already.
    const leftMs = signal ? Number.POSITIVE_INFINITY : call.deadlineMs - clock.monotonicMs();
    const cancel =
      leftMs <= timerMsMax
        ? clock.after(Math.max(0, Math.ceil(leftMs)), () => reject(new DeadlineExceededError()))
        : undefined;
    ended = () => {
      cancel?.();
      signal?.removeEventListener('abort', aborted);
    };
  });
}
