import { type Clock, settle } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Authenticator } from './authenticator.ts';

/** As in kube-apiserver: `failure` means no known credential, `error` a rejected or unverifiable one. */
export type AuthenticationResult = 'success' | 'failure' | 'error';

export type ObserveAuthentication = (result: AuthenticationResult, seconds: number, user: UserInfo | undefined) => void;

/** Measures each attempt of an authenticator. */
export function createMeasuredAuthenticator(
  inner: Authenticator,
  clock: Clock,
  observe: ObserveAuthentication,
): Authenticator {
  const ended = (user: UserInfo | undefined, startMs: number): UserInfo | undefined => {
    observe(user ? 'success' : 'failure', (clock.monotonicMs() - startMs) / 1000, user);
    return user;
  };
  const failed = (error: unknown, startMs: number): never => {
    observe('error', (clock.monotonicMs() - startMs) / 1000, undefined);
    throw error;
  };
  return {
    authenticate: (credentials, call) =>
      settle(() => inner.authenticate(credentials, call), clock.monotonicMs(), ended, failed),
  };
}
