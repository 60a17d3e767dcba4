/**
 * The context of work on its way from the socket to etcd, like Go's `context.Context`: deadline, cancellation and trace.
 * Every wait honours both the deadline and the signal. Work that several callers share has a call of its own (`detach`),
 * and each caller waits for it with `awaitWithin`.
 */
import { onAbort } from './abort-listeners.ts';
import type { Clock } from './clock.ts';
import type { LatencyTracker } from './latency.ts';
import { runInSpan, type Span, type SpanOptions } from './trace.ts';

export interface Call {
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  /**
   * Aborts when the caller disconnects; that of a request also when the deadline passes. Undefined for calls of the server
   * itself: then only the deadline counts. Created on first use, so only code that really waits should read it.
   */
  readonly signal: AbortSignal | undefined;
  /** Whether the signal aborts. A check between two steps reads this, which creates no signal. */
  readonly isAborted: boolean;
  /** The span that the work belongs to; undefined if the request is not sampled. */
  readonly trace: Span | undefined;
  /** Records the waits of the request; undefined for work that several requests share. */
  readonly latency?: LatencyTracker | undefined;
}

export class DeadlineExceededError extends Error {
  override readonly name = 'DeadlineExceededError';
  constructor() {
    super('the deadline of the call has passed');
  }
}

/** A call of the server itself, which no client can cancel. */
export const callUntil = (deadlineMs: number, trace?: Span): Call => ({
  deadlineMs,
  signal: undefined,
  isAborted: false,
  trace,
});

/** The same call without its caller, for work that must go on when the caller disconnects. */
export const detach = ({ deadlineMs, trace }: Call): Call => callUntil(deadlineMs, trace);

/** The origin of a call, such as a request on a socket. */
export interface Caller {
  readonly isAborted: boolean;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Calls back once, when the caller has its response or has disconnected; at once if that is over. */
  onEnd(listener: () => void): void;
}

/** The longest delay of a timer in Node. No call lasts that long. */
const timerMsMax = 2 ** 31 - 1;

/** Holds the span of a request, which may be set later, once the caller is authenticated. */
export interface SpanHolder {
  readonly span: Span | undefined;
}

/**
 * The call of a request. It is a class because an object literal with a getter has a new hidden class each time. The signal
 * is created on first use, which most requests never need.
 */
export class RequestCall implements Call {
  readonly deadlineMs: number;
  readonly latency: LatencyTracker | undefined;
  readonly #caller: Caller;
  readonly #clock: Clock;
  readonly #spanHolder: SpanHolder | undefined;
  #controller: AbortController | undefined;

  constructor(
    caller: Caller,
    clock: Clock,
    deadlineMs: number,
    { spanHolder, latency }: { spanHolder?: SpanHolder | undefined; latency?: LatencyTracker | undefined } = {},
  ) {
    this.deadlineMs = deadlineMs;
    this.latency = latency;
    this.#caller = caller;
    this.#clock = clock;
    this.#spanHolder = spanHolder;
  }

  get signal(): AbortSignal {
    if (!this.#controller) this.#controller = this.#createController();
    // The timer may fire some callbacks later, and `isAborted` already holds.
    else if (this.#leftMs() <= 0) this.#controller.abort(new DeadlineExceededError());
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#caller.isAborted || this.#controller?.signal.aborted === true || this.#leftMs() <= 0;
  }

  get trace(): Span | undefined {
    return this.#spanHolder?.span;
  }

  /** The same request, with an earlier deadline for a part of its work. */
  withDeadline(deadlineMs: number): RequestCall {
    return this.#derive(Math.min(this.deadlineMs, deadlineMs), this.#spanHolder);
  }

  /** The same request, for a part of its work that has its own span. */
  withSpan(span: Span): RequestCall {
    return this.#derive(this.deadlineMs, { span });
  }

  #derive(deadlineMs: number, spanHolder: SpanHolder | undefined): RequestCall {
    return new RequestCall(this.#caller, this.#clock, deadlineMs, { spanHolder, latency: this.latency });
  }

  #createController(): AbortController {
    const controller = new AbortController();
    const { signal } = this.#caller;
    onAbort(signal, () => controller.abort(signal.reason));
    const leftMs = this.#leftMs();
    if (leftMs <= 0) controller.abort(new DeadlineExceededError());
    else if (leftMs <= timerMsMax) {
      // Rounded up, so that the deadline has passed by the clock when the timer fires.
      const cancel = this.#clock.after(Math.ceil(leftMs), () => controller.abort(new DeadlineExceededError()));
      this.#caller.onEnd(cancel);
    }
    return controller;
  }

  #leftMs(): number {
    return this.deadlineMs - this.#clock.monotonicMs();
  }
}

/** A part of a call that is not of a request. */
class PartOfCall implements Call {
  readonly deadlineMs: number;
  readonly trace: Span | undefined;
  readonly #whole: Call;

  constructor(whole: Call, deadlineMs: number, trace: Span | undefined) {
    this.#whole = whole;
    this.deadlineMs = Math.min(whole.deadlineMs, deadlineMs);
    this.trace = trace;
  }

  get signal(): AbortSignal | undefined {
    return this.#whole.signal;
  }

  get isAborted(): boolean {
    return this.#whole.isAborted;
  }

  get latency(): LatencyTracker | undefined {
    return this.#whole.latency;
  }
}

/** The same call, with an earlier deadline for a part of its work. */
export const withDeadline = (call: Call, deadlineMs: number): Call =>
  call instanceof RequestCall ? call.withDeadline(deadlineMs) : new PartOfCall(call, deadlineMs, call.trace);

/** The same call, for a part of its work that has its own span. */
const withSpan = (call: Call, span: Span): Call =>
  call instanceof RequestCall ? call.withSpan(span) : new PartOfCall(call, call.deadlineMs, span);

/** Runs work in its own span if the request is sampled, and runs just the work otherwise. */
export function inSpan<T>(call: Call, name: string, work: (call: Call) => T, options?: SpanOptions): T {
  const span = call.trace?.child(name, options);
  return span ? runInSpan(span, () => work(withSpan(call, span))) : work(call);
}

/** Checks before the next step of work. Throws the reason that aborted the call. */
export function throwIfAborted(call: Call): void {
  if (call.isAborted) throw call.signal?.reason;
}

/** Waits for work until the call ends. The work itself goes on, because others may share it. */
export function awaitWithin<T>(clock: Clock, call: Call, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancelTimer = (): void => {};
    let stopListening = (): void => {};
    const fail = (error: unknown): void => {
      cancelTimer();
      stopListening();
      reject(error);
    };
    // Attached first: an unhandled rejection would end the process.
    work.then((value) => {
      cancelTimer();
      stopListening();
      resolve(value);
    }, fail);
    const { signal } = call;
    // The signal of a request includes its deadline.
    const leftMs = call instanceof RequestCall ? Number.POSITIVE_INFINITY : call.deadlineMs - clock.monotonicMs();
    if (leftMs <= timerMsMax)
      cancelTimer = clock.after(Math.max(0, Math.ceil(leftMs)), () => fail(new DeadlineExceededError()));
    if (signal) stopListening = onAbort(signal, () => fail(signal.reason));
  });
}
