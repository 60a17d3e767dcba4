import { type Call, type Clock, parseDuration, RequestCall, withDeadline } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import type { Handler } from '../exchange.ts';
import type { DeadlineContext, RequestInfoContext } from '../request-context.ts';

/** Sets the deadline of the request. The parameter `timeout` can only shorten it; a watch ignores it. */
export const setDeadline =
  (clock: Clock, requestTimeoutMs: number, next: Handler<DeadlineContext>): Handler<RequestInfoContext> =>
  (context) => {
    const { info, latency } = context;
    const requestedMs = info.verb === 'watch' ? undefined : requestedTimeoutMs(info.query);
    const timeoutMs = Math.min(requestedMs ?? requestTimeoutMs, requestTimeoutMs);
    const deadlineMs = latency.startedMs + timeoutMs;
    const call = new RequestCall(context.request, clock, deadlineMs, { spanHolder: context.trace, latency });
    const response = next(Object.assign(context, { call }));
    if (requestedMs === undefined || !(response instanceof Promise)) return response;
    return response.catch((error: unknown) => {
      throw toTimeout(error, deadlineMs, clock);
    });
  };

/** Runs the work with the shorter deadline of timeoutSeconds, if the client sent one. */
export async function withTimeoutSeconds<T>(
  seconds: number | undefined,
  call: Call,
  clock: Clock,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  if (!seconds || seconds < 0) return work(call);
  const shorter = withDeadline(call, clock.monotonicMs() + seconds * 1000);
  try {
    return await work(shorter);
  } catch (error) {
    throw toTimeout(error, shorter.deadlineMs, clock);
  }
}

/** Timers count whole milliseconds, so one may fire before the finer clock reaches the deadline. */
const earlyMs = 1;

/** A storage error after the client's own deadline is a timeout. */
function toTimeout(error: unknown, deadlineMs: number, clock: Clock): unknown {
  const over = clock.monotonicMs() >= deadlineMs - earlyMs;
  const gaveUp = error instanceof StatusError && error.reason === 'ServiceUnavailable' && over;
  if (!gaveUp) return error;
  return timeoutError(error);
}

export const timeoutError = (cause: unknown): StatusError =>
  new StatusError('Timeout', 'request did not complete within the requested timeout', {}, { cause });

/** Undefined for the server's default, which an empty, zero or negative timeout means too. */
function requestedTimeoutMs(query: URLSearchParams): number | undefined {
  const text = query.size > 0 ? query.get('timeout') : null;
  if (!text) return undefined;
  const requestedMs = parseDuration(text);
  if (requestedMs === undefined)
    throw badRequest(
      `invalid timeout specified in the request URL - ${JSON.stringify(text)} is not a duration such as 32s`,
    );
  return requestedMs > 0 ? requestedMs : undefined;
}
