import type { Handler } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import type { InFlightMeasures } from './in-flight.ts';

/**
 * Ends requests that the listener refuses, and those whose target cannot be decoded. Here, so that they are audited,
 * logged, counted and answered like others.
 */
export const rejectRefused =
  (measures: Pick<InFlightMeasures, 'refused'>) =>
  (next: Handler<RequestInfoContext>): Handler<RequestInfoContext> =>
  (context) => {
    const { info, request } = context;
    const refusal = request.refusal ?? info.fault;
    if (!refusal) return next(context);
    if (refusal.code === 429) measures.refused(request, info);
    throw refusal;
  };
