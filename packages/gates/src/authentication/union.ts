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

function tryInOrder<One, Answer>(
  all: readonly One[],
  call: (one: One) => Answer | undefined | Promise<Answer | undefined>,
  from = 0,
  earlier?: TokenRejectedError,
): Answer | undefined | Promise<Answer | undefined> {
  let rejection = earlier;
  for (let at = from; at < all.length; at++) {
    try {
      const found = call(requireValue(all[at]));
      if (found instanceof Promise) return tryLater(found, all, call, at + 1, rejection);
      if (found !== undefined) return found;
    } catch (error) {
      rejection = firstRejection(rejection, error);
    }
  }
  if (rejection) throw rejection;
  return undefined;
}

async function tryLater<One, Answer>(
  pending: Promise<Answer | undefined>,
  all: readonly One[],
  call: (one: One) => Answer | undefined | Promise<Answer | undefined>,
  next: number,
  earlier: TokenRejectedError | undefined,
): Promise<Answer | undefined> {
  let rejection = earlier;
  try {
    const found = await pending;
    if (found !== undefined) return found;
  } catch (error) {
    rejection = firstRejection(rejection, error);
  }
  return tryInOrder(all, call, next, rejection);
}

/** Throws any other error. */
function firstRejection(earlier: TokenRejectedError | undefined, error: unknown): TokenRejectedError {
  if (!(error instanceof TokenRejectedError)) throw error;
  return earlier ?? error;
}
