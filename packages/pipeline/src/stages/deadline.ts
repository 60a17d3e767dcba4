import { type Clock, parseDuration } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import type { Handler } from '../exchange.ts';
import type { Named, Timed } from '../facts.ts';

/** Bounds the time of a request. A client may ask for less by `timeout`; more than the server's own is cut to it. */
export const boundTime =
  ({ clock, requestTimeoutMs }: { readonly clock: Clock; readonly requestTimeoutMs: number }) =>
  (next: Handler<Timed>): Handler<Named> =>
  (facts) => {
    const asked = askedMs(facts.request.target);
    const timeoutMs = Math.min(asked ?? requestTimeoutMs, requestTimeoutMs);
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    const response = next(Object.assign(facts, { call: { deadlineMs } }));
    if (asked === undefined || !(response instanceof Promise)) return response;
    return response.catch((error: unknown) => {
      // Nothing is wrong with the storage if the client would not wait for it.
      const gaveUp =
        error instanceof StatusError && error.reason === 'ServiceUnavailable' && clock.monotonicMs() >= deadlineMs;
      throw gaveUp
        ? new StatusError('Timeout', 'request did not complete within the requested timeout', {}, { cause: error })
        : error;
    });
  };

function askedMs(target: string): number | undefined {
  const match = /[?&]timeout=([^&]*)/.exec(target);
  if (!match) return undefined;
  const asked = parseDuration(match[1] as string);
  if (asked === undefined || asked <= 0)
    throw badRequest(
      `invalid timeout specified in the request URL - ${JSON.stringify(match[1])} is no duration such as 32s`,
    );
  return asked;
}
