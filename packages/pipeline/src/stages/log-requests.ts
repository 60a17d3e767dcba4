import { isReady } from '../body-source.ts';
import type { ApiResponse, ExchangeEnd } from '../exchange.ts';
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

/** Only bodies that are not sent at once are followed to their end. */
export function logResponse(log: RequestLog, context: ReceivedContext, { body, status, stream }: ApiResponse): void {
  const { request, latency } = context;
  const readyMs = latency.sinceStartMs();
  if (!stream && isReady(body)) {
    const slow = readyMs > slowMs ? 'request' : undefined;
    if (!log.logsAll && !slow) return;
    const bodyBytes = body === undefined || request.method === 'HEAD' ? 0 : body.length;
    const end = request.isAborted ? abortedEnd : ({ outcome: 'complete', bodyBytes } as const);
    log.ended({ context, status, end, readyMs, totalMs: readyMs, slow });
    return;
  }
  if (stream && !log.logsAll) return;
  request.onEnd((end) => {
    const totalMs = latency.sinceStartMs();
    const slow = stream || totalMs <= slowMs ? undefined : readyMs > slowMs ? 'request' : 'response';
    if (log.logsAll || slow) log.ended({ context, status, end, readyMs, totalMs, slow });
  });
}
