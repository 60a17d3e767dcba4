import type { ListenerMeasures } from './measures.ts';

/** What went wrong, in words that never vary: clients choose paths, and the log is limited by its messages. */
export type ReportFailure = (what: string, error: unknown, request?: FailedRequest) => void;

export interface FailedRequest {
  readonly method: string;
  /** Without the query, which may hold what nobody should read in a log. */
  readonly path: string;
}

/**
 * Runs what Node calls back. An exception there would end the process, and with it the requests of everybody else: it
 * is reported and counted instead, and costs the connection, stream or timer in which it was thrown.
 */
export class CallbackGuard {
  readonly #report: ReportFailure;
  readonly #measures: ListenerMeasures;

  constructor(report: ReportFailure, measures: ListenerMeasures) {
    this.#report = report;
    this.#measures = measures;
  }

  /** The callback for an event of Node's. `close` ends what the event belongs to. */
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

  /** For a promise that nobody waits for. */
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
    runIgnoringErrors(() => this.#measures.callbackFailed(where));
    runIgnoringErrors(() => this.#report(what, error, request));
    runIgnoringErrors(close);
  }
}

/** Where a callback failed, as a metric calls it. */
export const callbackPlaces = ['connection', 'request', 'response', 'websocket', 'timer'] as const;
export type CallbackPlace = (typeof callbackPlaces)[number];

/** What is done because something failed already has nobody left to tell. */
function runIgnoringErrors(act: () => void): void {
  try {
    act();
  } catch {
    // The first error has been reported or cannot be.
  }
}
