import { requireValue } from '@cluster-apiserver/base';
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

/** Synchronous as long as all called authenticators are. */
function tryInOrder<One, Answer>(
  all: readonly One[],
  call: (one: One) => Answer | undefined | Promise<Answer | undefined>,
): Answer | undefined | Promise<Answer | undefined> {
  let rejection: TokenRejectedError | undefined;
  const rejected = (error: unknown): void => {
    if (!(error instanceof TokenRejectedError)) throw error;
    rejection ??= error;
  };
  const from = (index: number): Answer | undefined | Promise<Answer | undefined> => {
    for (let at = index; at < all.length; at++) {
      try {
        const found = call(requireValue(all[at]));
        if (found instanceof Promise) return found.catch(rejected).then((answer) => answer ?? from(at + 1));
        if (found !== undefined) return found;
      } catch (error) {
        rejected(error);
      }
    }
    if (rejection) throw rejection;
    return undefined;
  };
  return from(0);
}
