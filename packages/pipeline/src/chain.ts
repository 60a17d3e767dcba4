import { LatencyTracker, type Random } from '@cluster-apiserver/base';
import type { Authenticator, Authorizer } from '@cluster-apiserver/gates';
import type { Auditor } from './audit.ts';
import type { ApiRequest, Handler } from './exchange.ts';
import { type AuthenticatedContext, RequestContext } from './request-context.ts';
import { answer, type AnswerOptions } from './stages/answer.ts';
import { audit } from './stages/audit.ts';
import { authenticate, type ReportRejection } from './stages/authenticate.ts';
import { authorize } from './stages/authorize.ts';
import { setDeadline } from './stages/deadline.ts';
import { type FindServed, identify } from './stages/identify.ts';
import { impersonate } from './stages/impersonate.ts';
import type { InFlightMeasures } from './stages/in-flight-measures.ts';
import { limitRequests, type RequestLimits } from './stages/limit-requests.ts';
import { refuse } from './stages/refuse.ts';

export interface ChainOptions extends AnswerOptions {
  readonly random: Random;
  readonly find: FindServed;
  readonly requestTimeoutMs: number;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Undefined for no limit. */
  readonly limits?: RequestLimits | undefined;
  readonly inFlightMeasures: InFlightMeasures;
  readonly auditor?: Auditor | undefined;
  readonly reportRejection: ReportRejection;
}

/**
 * Builds the handler chain, innermost stage first. Auditing is outside all stages that reject requests, because
 * rejected ones are recorded too. Requests in flight are limited after impersonation, because the effective user holds the seat, and
 * before authorization, because an authorization webhook costs a seat.
 */
export function buildHandlerChain(options: ChainOptions, routes: Handler<AuthenticatedContext>): Handler<ApiRequest> {
  const { allowedOrigin, auditor, authenticator, authorizer, clock, inFlightMeasures, random, reportRejection } =
    options;
  // Handlers read the body, after authorization: unauthenticated callers must not fill the memory.
  const authorized = authorize(authorizer, routes);
  const limited = options.limits ? limitRequests(options.limits, inFlightMeasures, authorized) : authorized;
  const authenticated = authenticate(authenticator, reportRejection, impersonate(authorizer, limited));
  const accepted = refuse(allowedOrigin, inFlightMeasures, setDeadline(clock, options.requestTimeoutMs, authenticated));
  const handler = answer(options, identify(random, options.find, audit(auditor, accepted)));
  return (request) => handler(new RequestContext(request, new LatencyTracker(clock)));
}
