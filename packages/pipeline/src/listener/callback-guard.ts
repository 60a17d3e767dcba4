import type { CallbackPlace, ListenerMeasures } from './measures.ts';

/** `what` is a constant message: clients choose paths, and the log limits the rate per message. */
export type ReportFailure = (what: string, error: unknown, request?: FailedRequest) => void;

export interface FailedRequest {
  readonly method: string;
  /** Without the query, which may hold secrets. */
  readonly path: string;
}

/**
 * Guards callbacks of Node, in which an exception would end the process and all other requests. It is reported and
 * counted instead, and closes only the connection, stream or timer in which it was thrown.
 */
export class CallbackGuard {
  readonly #report: ReportFailure;
  readonly #measures: ListenerMeasures;

  constructor(report: ReportFailure, measures: ListenerMeasures) {
    this.#report = report;
    this.#measures = measures;
  }

  /** Wraps a callback. `close` ends what the event belongs to. */
  wrap<Args extends readonly unknown[]>(
    where: CallbackPlace,
    act: (...args: Args) => void,
    close: (...args: Args) => void = () => {},
  ): (...args: Args) => void {
    return (...args) => {
      try {
        act(...args);
      } catch (error) {
        this.reportFailure(where, error, () => close(...args));
      }
    };
  }

  run(where: CallbackPlace, act: () => void, close: () => void = () => {}): void {
    try {
      act();
    } catch (error) {
      this.reportFailure(where, error, close);
    }
  }

  /** For a promise that is not awaited. */
  catchRejection(where: CallbackPlace, promise: Promise<unknown>, close: () => void): void {
    promise.catch((error: unknown) => this.reportFailure(where, error, close));
  }

  reportFailure(
    where: CallbackPlace,
    error: unknown,
    close: () => void = () => {},
    what = `callback failed: ${where}`,
    request?: FailedRequest,
  ): void {
    runIgnoringErrors(() => this.#measures.countFailedCallback(where));
    runIgnoringErrors(() => this.#report(what, error, request));
    runIgnoringErrors(close);
  }
}

/** Runs a step of error handling, whose own errors cannot be reported. */
function runIgnoringErrors(act: () => void): void {
  try {
    act();
  } catch {
    // The first error has been reported, or cannot be.
  }
}
