import type { ApiResponse, ExchangeEnd, Handler } from '../exchange.ts';
import type { AuthenticatedContext, ReceivedContext } from '../request-context.ts';

/** What is logged of requests once they are over. Nothing here throws or waits. */
export interface RequestLog {
  /** Whether every request is logged, or only those that were slow. */
  readonly logsAll: boolean;
  ended(request: EndedRequest): void;
}

export interface EndedRequest {
  /** What the stages had found out by then. */
  readonly context: ReceivedContext & Partial<AuthenticatedContext>;
  readonly status: number;
  readonly end: ExchangeEnd;
  /** Until the response was ready to be sent. */
  readonly readyMs: number;
  /** Until it had been sent, which for a small one is not waited for: it leaves at once. */
  readonly totalMs: number;
  /** What took too long, if anything. Long-running requests are never slow. */
  readonly slow: 'request' | 'response' | undefined;
}

const abortedEnd: ExchangeEnd = { outcome: 'aborted', bodyBytes: 0 };

/** As kube-apiserver, which logs a trace of what takes longer. */
const slowMs = 500;

/** Outermost, so that every response is logged. Only what does not leave at once is followed until it has been sent. */
export const logRequests =
  (log: RequestLog) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> => {
    const ready = (context: ReceivedContext, response: ApiResponse): ApiResponse => {
      const { request, latency } = context;
      const readyMs = latency.sinceStartMs();
      const { body, status } = response;
      if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
        const slow = readyMs > slowMs ? 'request' : undefined;
        if (!log.logsAll && !slow) return response;
        const bodyBytes = body === undefined || request.method === 'HEAD' ? 0 : body.length;
        const end = request.isAborted ? abortedEnd : ({ outcome: 'complete', bodyBytes } as const);
        log.ended({ context, status, end, readyMs, totalMs: readyMs, slow });
        return response;
      }
      const isLongRunning = 'stream' in body;
      if (isLongRunning && !log.logsAll) return response;
      const ended = (end: ExchangeEnd): void => {
        const totalMs = latency.sinceStartMs();
        const slow = isLongRunning || totalMs <= slowMs ? undefined : readyMs > slowMs ? 'request' : 'response';
        if (log.logsAll || slow) log.ended({ context, status, end, readyMs, totalMs, slow });
      };
      if (request.isAborted) ended(abortedEnd);
      else request.onEnd(ended);
      return response;
    };
    return (context) => {
      const response = next(context);
      return response instanceof Promise ? response.then((late) => ready(context, late)) : ready(context, response);
    };
  };
