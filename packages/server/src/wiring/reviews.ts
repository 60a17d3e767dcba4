import type { Clock } from '@cluster-apiserver/base';
import { type Authorizer, type TokenAuthenticator, TokenRejectedError } from '@cluster-apiserver/gates';
import { reviews, type ReviewServices } from '@cluster-apiserver/kinds';
import type { Review } from '@cluster-apiserver/model';

export interface ReviewDependencies {
  readonly clock: Clock;
  readonly tokens: TokenAuthenticator;
  readonly authorizer: Required<Authorizer>;
  /** What this API is called by tokens that are for it. */
  readonly apiAudiences: readonly string[];
}

/** Reviews ask the same who decide about requests. */
export const openReviews = ({ clock, tokens, authorizer, apiAudiences }: ReviewDependencies): readonly Review[] =>
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
    const asked = audiences.length > 0 ? audiences : apiAudiences;
    try {
      const answer = await tokens.authenticateToken(token, call, audiences.length > 0 ? audiences : undefined);
      if (!answer) return unauthenticated;
      // Whoever asks for an audience would otherwise believe a token that is for somebody else.
      const good = answer.audiences ?? apiAudiences.filter((one) => asked.includes(one));
      return audiences.length > 0 && good.length === 0 ? unauthenticated : { user: answer.user, audiences: good };
    } catch (error) {
      if (error instanceof TokenRejectedError) return { error: error.told ?? unauthenticated.error };
      throw error;
    }
  };
}
