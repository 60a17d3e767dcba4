import type { Authenticator, Credentials, UserInfo } from './authenticator.ts';

/** Asks one after the other until one knows. It stays synchronous as long as all that it asks are. */
export function firstToKnow(authenticators: readonly Authenticator[]): Authenticator {
  const from = (index: number, credentials: Credentials): UserInfo | undefined | Promise<UserInfo | undefined> => {
    for (let at = index; at < authenticators.length; at++) {
      const found = (authenticators[at] as Authenticator).authenticate(credentials);
      if (found instanceof Promise) return found.then((user) => user ?? from(at + 1, credentials));
      if (found) return found;
    }
    return undefined;
  };
  return { authenticate: (credentials) => from(0, credentials) };
}
