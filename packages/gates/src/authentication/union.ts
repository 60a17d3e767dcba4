import { chain, firstOf, settle } from '@cluster-apiserver/base';
import type { Authenticator } from './authenticator.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import { TokenRejectedError } from './token-rejected-error.ts';

/** Tries the authenticators in order until one succeeds. The first rejection is thrown only if none succeeds. */
export const uniteAuthenticators = (authenticators: readonly Authenticator[]): Authenticator => ({
  authenticate: (credentials, call) => tryInOrder(authenticators, (one) => one.authenticate(credentials, call)),
});

/** The same for tokens. */
export const uniteTokenAuthenticators = (authenticators: readonly TokenAuthenticator[]): TokenAuthenticator => ({
  authenticateToken: (token, call, audiences) =>
    tryInOrder(authenticators, (one) => one.authenticateToken(token, call, audiences)),
});

function tryInOrder<One, Answer>(
  all: readonly One[],
  call: (one: One) => Answer | undefined | Promise<Answer | undefined>,
): Answer | undefined | Promise<Answer | undefined> {
  let rejection: TokenRejectedError | undefined;
  const rejected = (error: unknown): undefined => {
    if (!(error instanceof TokenRejectedError)) throw error;
    rejection ??= error;
  };
  const found = firstOf(all, (one) => settle(call, one, (answer) => answer, rejected));
  return chain(found, (answer) => {
    if (answer === undefined && rejection) throw rejection;
    return answer;
  });
}
