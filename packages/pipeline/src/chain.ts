import { type Clock, LatencyTracker, type Random } from '@cluster-apiserver/base';
import type { Authenticator, Authorizer } from '@cluster-apiserver/gates';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { Auditor } from './audit.ts';
import type { ApiRequest, Handler } from './exchange.ts';
import { type AuthenticatedContext, RequestContext } from './request-context.ts';
import { respondToErrors, type ReportFault } from './stages/error-responses.ts';
import { audit } from './stages/audit.ts';
import { authenticate, type ReportRejection } from './stages/authenticate.ts';
import { authorize } from './stages/authorize.ts';
import { type AllowedOrigin, rejectForeignOrigins, addCorsHeaders } from './stages/cross-origin.ts';
import { setDeadline } from './stages/deadline.ts';
import { impersonate } from './stages/impersonate.ts';
import { type InFlightLimits, type InFlightMeasures, limitInFlight } from './stages/in-flight.ts';
import { logRequests, type RequestLog } from './stages/log-requests.ts';
import { type Measures, measure } from './stages/measure.ts';
import { assignAuditId } from './stages/audit-id.ts';
import { rejectRefused } from './stages/refused.ts';
import { traceRequests } from './stages/trace.ts';
import { resolveRequestInfo } from './stages/request-info.ts';

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
  /** Undefined if tracing is disabled. */
  readonly tracer?: Tracer | undefined;
  readonly report: ReportFault;
  readonly reportRejection: ReportRejection;
}

/**
 * Builds the handler chain, innermost stage first. Auditing is outside all stages that reject requests, because
 * rejected ones are recorded too. Requests in flight are limited after impersonation, because the effective user holds the seat, and
 * before authorization, because an authorization webhook costs a seat.
 */
export function buildHandlerChain(options: ChainOptions, routes: Handler<AuthenticatedContext>): Handler<ApiRequest> {
  const { allowedOrigin, auditor, authenticator, authorizer, measures, random, report, reportRejection } = options;
  // Handlers read the body, after authorization: unauthenticated callers must not fill the memory.
  const authorized = authorize(authorizer)(routes);
  const limited = limitInFlight(options.inFlightLimits, options.inFlightMeasures)(authorized);
  const authenticated = authenticate(authenticator, reportRejection)(impersonate(authorizer)(limited));
  const checked = rejectForeignOrigins(allowedOrigin)(setDeadline(options)(authenticated));
  const audited = audit(auditor)(rejectRefused(options.inFlightMeasures)(checked));
  const identified = assignAuditId(random)(resolveRequestInfo(audited));
  const answered = addCorsHeaders(allowedOrigin)(respondToErrors(report)(identified));
  const handled = measure(measures)(answered);
  const logged = logRequests(options.requestLog)(handled);
  const handler = traceRequests(options.tracer, options.clock)(logged);
  return (request) => handler(new RequestContext(request, new LatencyTracker(options.clock)));
}
