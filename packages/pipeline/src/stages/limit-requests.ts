import { chain, settle } from '@cluster-apiserver/base';
import { type FlowControl, FlowRejectedError, type FlowSeats } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { textResponse } from '../responses.ts';
import type { InFlightMeasures, RequestKind } from './in-flight-measures.ts';
import { releaseSeat } from './seated-body.ts';

/** How many requests run at once, and which. */
export interface RequestLimits {
  readonly control: FlowControl;
  /** How many seats the request takes: most take one. */
  readonly seatsOf: (context: AuthenticatedContext) => number;
}

/**
 * Lets requests run that have a seat, by their priority and fairly among the flows of a priority. Watches hold no seat. A
 * request that finds seats does not wait. See docs/decisions/0024-requests.md.
 */
export function limitRequests(
  { control, seatsOf }: RequestLimits,
  measures: InFlightMeasures,
  next: Handler<AuthenticatedContext>,
): Handler<AuthenticatedContext> {
  const running = { readOnly: 0, mutating: 0 };
  const count = (context: AuthenticatedContext, difference: 1 | -1): void => {
    const kind = kindOfRequest(context);
    running[kind] += difference;
    measures.used(kind, running[kind]);
  };
  const done = (response: ApiResponse, context: SeatedContext): ApiResponse => {
    count(context, -1);
    return releaseSeat(response, context.seat);
  };
  const reject = (error: unknown, context: AuthenticatedContext): ApiResponse | Promise<ApiResponse> => {
    if (error instanceof FlowRejectedError) measures.rejected(kindOfRequest(context), context);
    else if (!isRefusal(error)) throw error;
    const held = context.flow && control.holdRefusal(context.flow, context.call);
    return chain(held, () => answerRefused(error, context));
  };
  const failed = (error: unknown, context: SeatedContext): ApiResponse | Promise<ApiResponse> => {
    count(context, -1);
    context.seat.release();
    return reject(error, context);
  };
  const run = (seat: FlowSeats, context: AuthenticatedContext): ApiResponse | Promise<ApiResponse> => {
    count(context, 1);
    return settle(next, Object.assign(context, { seat }), done, failed);
  };
  return (context) => {
    const flow = control.classify(context);
    context.flow = flow;
    context.request.takeTurnsAs(context.user.name);
    if (context.info.verb === 'watch') return settle(next, context, unchanged, reject);
    // Every wait of a request is bounded by its deadline, its client or the timeout for slow bodies, so every seat is
    // released.
    const seats = control.acquire(flow, context, seatsOf(context), context.call);
    return seats instanceof Promise
      ? seats.then(
          (late) => run(late, context),
          (error: unknown) => reject(error, context),
        )
      : run(seats, context);
  };
}

type SeatedContext = AuthenticatedContext & { readonly seat: FlowSeats };

function answerRefused(error: unknown, { auditId }: AuthenticatedContext): ApiResponse {
  if (!(error instanceof FlowRejectedError)) throw error;
  return textResponse(auditId, 429, 'Too many requests, please try again later.\n', { 'retry-after': '1' });
}

const unchanged = (response: ApiResponse): ApiResponse => response;

/** By a limit of a later stage, as for events and watches. */
const isRefusal = (error: unknown): boolean => error instanceof StatusError && error.code === 429;

/** All other verbs count as mutating, as in kube-apiserver. */
const kindOfRequest = ({ info }: AuthenticatedContext): RequestKind =>
  info.verb === 'get' || info.verb === 'list' ? 'readOnly' : 'mutating';
