import { type Clock, observeCalls } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';

/** As in kube-apiserver: `error` means not allowed because an authorizer could not decide. */
export type AuthorizationResult = 'allowed' | 'denied' | 'no-opinion' | 'error';

export type ObserveAuthorization = (result: AuthorizationResult, seconds: number) => void;

/** Measures each attempt of an authorizer. */
export function createMeasuredAuthorizer(inner: Authorizer, clock: Clock, observe: ObserveAuthorization): Authorizer {
  const secondsSince = (startMs: number): number => (clock.monotonicMs() - startMs) / 1000;
  const { rulesOf } = inner;
  return {
    authorize: observeCalls((attributes, call) => inner.authorize(attributes, call), {
      begin: () => clock.monotonicMs(),
      end: (startMs, decision) => observe(resultOf(decision), secondsSince(startMs)),
      fail: (startMs) => observe('error', secondsSince(startMs)),
    }),
    ...(rulesOf && { rulesOf }),
  };
}

function resultOf({ verdict, error }: AccessDecision): AuthorizationResult {
  if (verdict === 'allow') return 'allowed';
  if (error || verdict === 'notReady') return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
