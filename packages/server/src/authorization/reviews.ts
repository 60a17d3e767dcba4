import type { Clock } from '@cluster-apiserver/base';
import { type Authorizer, type TokenAuthenticator, TokenRejectedError } from '@cluster-apiserver/gates';
import { reviews, type ReviewServices } from '@cluster-apiserver/kinds';
import type { Review } from '@cluster-apiserver/model/kind';

export interface ReviewDependencies {
  readonly clock: Clock;
  readonly tokens: TokenAuthenticator;
  readonly authorizer: Required<Authorizer>;
  /** Audiences of this API. */
  readonly apiAudiences: readonly string[];
}

/** Reviews use the same authenticators and authorizers as requests. */
export const createReviews = ({ clock, tokens, authorizer, apiAudiences }: ReviewDependencies): readonly Review[] =>
  reviews({
    clock,
    authorize: (question, call) => authorizer.authorize(question, call),
    rulesOf: (user, namespace, call) => authorizer.rulesOf(user, namespace, call),
    authenticateToken: createTokenReviewer(tokens, apiAudiences),
  });

const unauthenticated = { error: 'invalid bearer token' };

function createTokenReviewer(
  tokens: TokenAuthenticator,
  apiAudiences: readonly string[],
): ReviewServices['authenticateToken'] {
  return async (token, audiences, call) => {
    const requested = audiences.length > 0 ? audiences : apiAudiences;
    try {
      const answer = await tokens.authenticateToken(token, call, audiences.length > 0 ? audiences : undefined);
      if (!answer) return unauthenticated;
      // Without this check the client would trust a token for other audiences.
      const good = answer.audiences ?? apiAudiences.filter((one) => requested.includes(one));
      return audiences.length > 0 && good.length === 0 ? unauthenticated : { user: answer.user, audiences: good };
    } catch (error) {
      if (error instanceof TokenRejectedError) return { error: error.clientMessage ?? unauthenticated.error };
      throw error;
    }
  };
}
