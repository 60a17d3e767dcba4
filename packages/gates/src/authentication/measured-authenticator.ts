import type { Clock } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Authenticator } from './authenticator.ts';

/** As in kube-apiserver: `failure` means no known credential, `error` a rejected or unverifiable one. */
export type AuthenticationResult = 'success' | 'failure' | 'error';

export type ObserveAuthentication = (result: AuthenticationResult, seconds: number, user: UserInfo | undefined) => void;

/** Measures each attempt of an authenticator. Synchronous attempts allocate nothing. */
export function createMeasuredAuthenticator(
  inner: Authenticator,
  clock: Clock,
  observe: ObserveAuthentication,
): Authenticator {
  const ended = (startMs: number, user: UserInfo | undefined): UserInfo | undefined => {
    observe(user ? 'success' : 'failure', (clock.monotonicMs() - startMs) / 1000, user);
    return user;
  };
  const failed = (startMs: number, error: unknown): never => {
    observe('error', (clock.monotonicMs() - startMs) / 1000, undefined);
    throw error;
  };
  return {
    authenticate: (credentials, call) => {
      const startMs = clock.monotonicMs();
      let found: ReturnType<Authenticator['authenticate']>;
      try {
        found = inner.authenticate(credentials, call);
      } catch (error) {
        return failed(startMs, error);
      }
      if (!(found instanceof Promise)) return ended(startMs, found);
      return found.then(
        (user) => ended(startMs, user),
        (error: unknown) => failed(startMs, error),
      );
    },
  };
}
