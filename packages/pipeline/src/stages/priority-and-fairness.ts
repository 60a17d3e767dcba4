import { settle } from '@cluster-apiserver/base';
import { type FlowControl, FlowRejectedError, type FlowSeats } from '@cluster-apiserver/gates';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import type { InFlightMeasures } from './in-flight-measures.ts';
import { kindOfRequest, releaseSeat, tooManyRequests } from './seats.ts';

/** How requests are limited by their priority and their flow. */
export interface FairSharing {
  readonly control: FlowControl;
  /** How many seats the request takes: most take one. */
  readonly seatsOf: (context: AuthenticatedContext) => number;
}

/**
 * Lets requests run by their priority, and fairly among the flows of a priority. Watches hold no seat. A request that finds
 * seats does not wait.
 */
export function limitByPriority(
  { control, seatsOf }: FairSharing,
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
    return releaseSeat(response, context);
  };
  const reject = (error: unknown, context: AuthenticatedContext): ApiResponse => {
    if (!(error instanceof FlowRejectedError)) throw error;
    measures.rejected(kindOfRequest(context), context);
    return tooManyRequests(context);
  };
  const failed = (error: unknown, context: SeatedContext): ApiResponse => {
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
    if (!flow) return next(context);
    context.flow = flow;
    if (context.info.verb === 'watch') return next(context);
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
