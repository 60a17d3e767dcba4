import { inSpan, trackLatency } from '@cluster-apiserver/base';
import {
  type Authorizer,
  type Impersonation,
  ImpersonationHeaderError,
  impersonationPrefix,
  createImpersonator,
  type ImpersonatedUser,
  readImpersonatedUser,
} from '@cluster-apiserver/gates';
import { badRequest } from '@cluster-apiserver/model';
import type { ApiRequest, ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { attributesOf, forbiddenError } from './authorize.ts';

/** Replaces the user by the impersonated one, if the caller may impersonate. */
export function impersonate(
  authorizer: Authorizer,
  next: Handler<AuthenticatedContext>,
): Handler<AuthenticatedContext> {
  const decide = createImpersonator(authorizer);
  const proceed = (context: AuthenticatedContext, impersonation: Impersonation): ApiResponse | Promise<ApiResponse> => {
    if ('refused' in impersonation) throw forbiddenError(impersonation.refused.attributes, impersonation.refused);
    context.audit?.logImpersonatedUser(impersonation.user, impersonation.constraint);
    return next(Object.assign(context, { user: impersonation.user, impersonator: context.user }));
  };
  return (context) => {
    const wanted = readWantedUser(context.request);
    if (!wanted) return next(context);
    const decided = inSpan(context.call, 'impersonation', (call) => decide(wanted, attributesOf(context), call));
    return trackLatency(context.latency, 'authorization', decided).then((found) => proceed(context, found));
  };
}

function readWantedUser(request: ApiRequest): ImpersonatedUser | undefined {
  try {
    return readImpersonatedUser(request.headersFrom(impersonationPrefix));
  } catch (error) {
    if (error instanceof ImpersonationHeaderError) throw badRequest(error.message, error);
    throw error;
  }
}
