import type { ServedKind } from '@cluster-apiserver/model/kind';
import { isReady } from '../body-source.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { DeadlineContext, ReceivedContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';

/**
 * The request metrics. Handlers receive no measures: what they find out travels on the context of the request, as `info`
 * does, and `watchEnd` to the line of the log. Paths and verbs come from clients, so the implementation must bound the label
 * values.
 */
export interface Measures {
  /**
   * Called once per request: when its response is ready, when a generated body has been sent, or when a stream begins.
   */
  record(request: MeasuredRequest): void;
}

export interface MeasuredRequest {
  readonly request: ApiRequest;
  /** Undefined for a preflight request of a browser. */
  readonly info: RequestInfo | undefined;
  /** The kind that the request is about; undefined if it names none that is served. */
  readonly served: ServedKind | undefined;
  readonly code: number;
  readonly seconds: number;
  /** Seconds without the time spent waiting for admission webhooks. */
  readonly ownSeconds: number;
  /** Size of the body; undefined for a stream. */
  readonly bytes: number | undefined;
  /** The trace of the request, if it is sampled. */
  readonly trace: RecordedTrace | undefined;
}

export interface RecordedTrace {
  readonly traceId: string;
  readonly spanId: string;
}

/** Counts all requests, including failed ones. */
export function recordResponse(measures: Measures, context: ReceivedContext, response: ApiResponse): void {
  const { status, body, stream } = response;
  if (stream) record(measures, context, status, undefined);
  else if (isReady(body)) record(measures, context, status, body?.length ?? 0);
  // The duration and size of a generated body are known when it has been sent.
  else context.request.onEnd(({ bodyBytes }) => record(measures, context, status, bodyBytes));
}

function record(measures: Measures, context: ReceivedContext, code: number, bytes: number | undefined): void {
  const { info, served, call }: Partial<DeadlineContext> = context; // added by later stages
  const { request, latency } = context;
  const seconds = latency.sinceStartMs() / 1000;
  const ownSeconds = seconds - latency.totalMs('webhooks') / 1000;
  measures.record({ request, info, served, code, seconds, ownSeconds, bytes, trace: call?.trace?.context });
}
