import { isReady } from '../body-source.ts';
import type { ApiResponse, ExchangeEnd, Handler } from '../exchange.ts';
import type { AuthenticatedContext, ReceivedContext } from '../request-context.ts';

/** Logs finished requests. No method throws or waits. */
export interface RequestLog {
  /** Whether all requests are logged, or only slow ones. */
  readonly logsAll: boolean;
  ended(request: EndedRequest): void;
}

export interface EndedRequest {
  readonly context: ReceivedContext & Partial<AuthenticatedContext>;
  readonly status: number;
  readonly end: ExchangeEnd;
  /** Duration until the response was ready to be sent. */
  readonly readyMs: number;
  /** Duration until the response had been sent. A small one is sent at once. */
  readonly totalMs: number;
  /** What was slow, if anything. Long-running requests never are. */
  readonly slow: 'request' | 'response' | undefined;
}

const abortedEnd: ExchangeEnd = { outcome: 'aborted', bodyBytes: 0 };

/** The threshold of kube-apiserver for logging a trace. */
const slowMs = 500;

/** Outermost, so that all responses are logged. Only bodies that are not sent at once are followed to their end. */
export const logRequests =
  (log: RequestLog) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> => {
    const ready = (context: ReceivedContext, response: ApiResponse): ApiResponse => {
      const { request, latency } = context;
      const readyMs = latency.sinceStartMs();
      const { body, status } = response;
      const isLongRunning = response.stream !== undefined;
      if (!isLongRunning && isReady(body)) {
        const slow = readyMs > slowMs ? 'request' : undefined;
        if (!log.logsAll && !slow) return response;
        const bodyBytes = body === undefined || request.method === 'HEAD' ? 0 : body.length;
        const end = request.isAborted ? abortedEnd : ({ outcome: 'complete', bodyBytes } as const);
        log.ended({ context, status, end, readyMs, totalMs: readyMs, slow });
        return response;
      }
      if (isLongRunning && !log.logsAll) return response;
      const ended = (end: ExchangeEnd): void => {
        const totalMs = latency.sinceStartMs();
        const slow = isLongRunning || totalMs <= slowMs ? undefined : readyMs > slowMs ? 'request' : 'response';
        if (log.logsAll || slow) log.ended({ context, status, end, readyMs, totalMs, slow });
      };
      request.onEnd(ended);
      return response;
    };
    return (context) => {
      const response = next(context);
      return response instanceof Promise ? response.then((late) => ready(context, late)) : ready(context, response);
    };
  };
