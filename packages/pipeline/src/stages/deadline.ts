import { type Clock, parseDuration } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import type { Handler } from '../exchange.ts';
import type { Named, Timed } from '../facts.ts';

/** Bounds the time of a request. A client may ask for less by `timeout`; more than the server's own is cut to it. */
export const boundTime =
  ({ clock, requestTimeoutMs }: { readonly clock: Clock; readonly requestTimeoutMs: number }) =>
  (next: Handler<Timed>): Handler<Named> =>
  (facts) => {
    const asked = askedMs(facts.request.target);
    const timeoutMs = asked === undefined ? requestTimeoutMs : Math.min(asked, requestTimeoutMs);
    return next(Object.assign(facts, { call: { deadlineMs: clock.monotonicMs() + timeoutMs } }));
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
