import { type Clock, LatencyTracker, type Random } from '@cluster-apiserver/base';
import type { Authenticator, Authorizer } from '@cluster-apiserver/gates';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { Auditor } from './audit.ts';
import type { ApiRequest, Handler } from './exchange.ts';
import type { Authenticated, Received } from './facts.ts';
import { answerErrors, type ReportFault } from './stages/answer-errors.ts';
import { audit } from './stages/audit.ts';
import { authenticate, type ReportRejection } from './stages/authenticate.ts';
import { authorize } from './stages/authorize.ts';
import { type AllowedOrigin, refuseForeignOrigins, shareWithOrigins } from './stages/cross-origin.ts';
import { boundTime } from './stages/deadline.ts';
import { impersonate } from './stages/impersonate.ts';
import { type InFlightLimits, type InFlightMeasures, limitInFlight } from './stages/in-flight.ts';
import { logRequests, type RequestLog } from './stages/log-requests.ts';
import { type Measures, measure } from './stages/measure.ts';
import { nameRequest } from './stages/request-id.ts';
import { traceRequests } from './stages/trace.ts';
import { understand } from './stages/understand.ts';

export interface ChainOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
  readonly allowedOrigin: AllowedOrigin;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly inFlightLimits: InFlightLimits;
  readonly inFlightMeasures: InFlightMeasures;
  readonly auditor?: Auditor | undefined;
  readonly measures: Measures;
  readonly requestLog: RequestLog;
  /** Undefined for no tracing at all. */
  readonly tracer?: Tracer | undefined;
  readonly report: ReportFault;
  readonly reportRejection: ReportRejection;
}

/**
 * The way of a request, outermost first. Auditing is outside authentication, because a refused caller is recorded, too.
 * Requests in flight are limited after impersonation, because the user who acts holds the seat, and before authorize,
 * because a webhook that authorizes costs a seat.
 */
export function chain(options: ChainOptions, routes: Handler<Authenticated>): Handler<ApiRequest> {
  const { allowedOrigin, auditor, authenticator, authorizer, measures, random, report, reportRejection } = options;
  const answer: Handler<Received> = measure(
    measures,
    options.clock,
  )(
    shareWithOrigins(allowedOrigin)(
      answerErrors(report)(
        nameRequest(random)(
          boundTime(options)(
            understand(
              refuseForeignOrigins(allowedOrigin)(
                audit(auditor)(
                  authenticate(
                    authenticator,
                    reportRejection,
                  )(
                    impersonate(authorizer)(
                      limitInFlight(
                        options.inFlightLimits,
                        options.inFlightMeasures,
                      )(
                        // The body is read only inside the routes: an unknown caller must not make us hold a megabyte.
                        authorize(authorizer)(routes),
                      ),
                    ),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
  const logged = logRequests(options.requestLog)(answer);
  const way = traceRequests(options.tracer, options.clock)(logged);
  return (request) => way({ request, latency: new LatencyTracker(options.clock) });
}
