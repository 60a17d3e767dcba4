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
import type { Authenticated } from '../facts.ts';
import { attributesOf, refusal } from './authorize.ts';

/** Whom does it act for? From here on the request is that user's, if the caller may act for him. */
export const impersonate =
  (authorizer: Authorizer) =>
  (next: Handler<Authenticated>): Handler<Authenticated> => {
    const decide = createImpersonator(authorizer);
    const goOn = (facts: Authenticated, impersonation: Impersonation): ApiResponse | Promise<ApiResponse> => {
      if ('refused' in impersonation) throw refusal(impersonation.refused.attributes, impersonation.refused);
      facts.audit?.impersonatedUser(impersonation.user, impersonation.constraint);
      return next(Object.assign(facts, { user: impersonation.user, impersonator: facts.user }));
    };
    return (facts) => {
      const wanted = wantedIn(facts.request);
      if (!wanted) return next(facts);
      const decided = inSpan(facts.call, 'impersonation', (call) => decide(wanted, attributesOf(facts), call));
      return trackLatency(facts.latency, 'authorization', decided).then((found) => goOn(facts, found));
    };
  };

function wantedIn(request: ApiRequest): ImpersonatedUser | undefined {
  try {
    return readImpersonatedUser(request.headersFrom(impersonationPrefix));
  } catch (error) {
    if (error instanceof ImpersonationHeaderError) throw badRequest(error.message, error);
    throw error;
  }
}
