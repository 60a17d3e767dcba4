import type { ApiResponse, ExchangeEnd, Handler } from '../exchange.ts';
import type { Authenticated, Received } from '../facts.ts';

/** What is logged of requests once they are over. Nothing here throws or waits. */
export interface RequestLog {
  /** Whether every request is logged, or only those that were slow. */
  readonly logsAll: boolean;
  ended(request: EndedRequest): void;
}

export interface EndedRequest {
  /** What the stages had found out by then. */
  readonly facts: Received & Partial<Authenticated>;
  readonly status: number;
  readonly end: ExchangeEnd;
  /** Until the response was ready to be sent. */
  readonly readyMs: number;
  /** Until it had been sent. */
  readonly totalMs: number;
  /** What took too long, if anything. Long-running requests are never slow. */
  readonly slow: 'request' | 'response' | undefined;
}

/** As kube-apiserver, which logs a trace of what takes longer. */
const slowMs = 500;

/** Outermost, so that every response is logged. Only what has to be logged is followed until it has been sent. */
export const logRequests =
  (log: RequestLog) =>
  (next: Handler<Received>): Handler<Received> => {
    const ready = (facts: Received, response: ApiResponse): ApiResponse => {
      const readyMs = facts.latency.sinceStartMs();
      const { body, status } = response;
      const isLongRunning = typeof body === 'object' && 'stream' in body;
      const isSlow = readyMs > slowMs && !isLongRunning;
      // A large body is made while it is sent. What is ready leaves at once.
      const isLarge = typeof body === 'object' && !Buffer.isBuffer(body) && !isLongRunning;
      if (!log.logsAll && !isSlow && !isLarge) return response;
      const ended = (end: ExchangeEnd): void => {
        const totalMs = facts.latency.sinceStartMs();
        const slow = isSlow ? 'request' : isLarge && totalMs > slowMs ? 'response' : undefined;
        if (log.logsAll || slow) log.ended({ facts, status, end, readyMs, totalMs, slow });
      };
      if (facts.request.isAborted) ended({ outcome: 'aborted', bodyBytes: 0 });
      else facts.request.onEnd(ended);
      return response;
    };
    return (facts) => {
      const response = next(facts);
      return response instanceof Promise ? response.then((late) => ready(facts, late)) : ready(facts, response);
    };
  };
