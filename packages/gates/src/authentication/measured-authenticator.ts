import { type Clock, observeCalls } from '@cluster-apiserver/base';
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
  const secondsSince = (startMs: number): number => (clock.monotonicMs() - startMs) / 1000;
  return {
    authenticate: observeCalls((credentials, call) => inner.authenticate(credentials, call), {
      begin: () => clock.monotonicMs(),
      end: (startMs, user) => observe(user ? 'success' : 'failure', secondsSince(startMs), user),
      fail: (startMs) => observe('error', secondsSince(startMs), undefined),
    }),
  };
}
