import type { Handler } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import { type AllowedOrigin, requireKnownOrigin } from './cross-origin.ts';
import type { InFlightMeasures } from './in-flight-measures.ts';

/**
 * Ends requests that are refused for any user: by the listener, because their target cannot be decoded, or as those of
 * a foreign page. Here, so that they are audited, logged, counted and answered like others.
 */
export const refuse =
  (
    isAllowed: AllowedOrigin,
    measures: Pick<InFlightMeasures, 'refused'>,
    next: Handler<RequestInfoContext>,
  ): Handler<RequestInfoContext> =>
  (context) => {
    const { info, request } = context;
    const refusal = request.refusal ?? info.fault;
    if (refusal?.code === 429) measures.refused(context);
    if (refusal) throw refusal;
    requireKnownOrigin(request, isAllowed);
    return next(context);
  };
