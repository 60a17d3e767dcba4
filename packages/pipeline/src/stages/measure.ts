import { isReady } from '../body-source.ts';
import type { ApiResponse } from '../exchange.ts';
import type { DeadlineContext, ReceivedContext } from '../request-context.ts';
import type { Measures } from './request-measures.ts';

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
