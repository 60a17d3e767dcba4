import { type Clock, settle } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';

/** As in kube-apiserver: `error` means not allowed because an authorizer could not decide. */
export type AuthorizationResult = 'allowed' | 'denied' | 'no-opinion' | 'error';

export type ObserveAuthorization = (result: AuthorizationResult, seconds: number) => void;

/** Measures each attempt of an authorizer. */
export function createMeasuredAuthorizer(inner: Authorizer, clock: Clock, observe: ObserveAuthorization): Authorizer {
  const ended = (decision: AccessDecision, startMs: number): AccessDecision => {
    observe(resultOf(decision), (clock.monotonicMs() - startMs) / 1000);
    return decision;
  };
  const failed = (error: unknown, startMs: number): never => {
    observe('error', (clock.monotonicMs() - startMs) / 1000);
    throw error;
  };
  const { rulesOf } = inner;
  return {
    authorize: (attributes, call) =>
      settle(() => inner.authorize(attributes, call), clock.monotonicMs(), ended, failed),
    ...(rulesOf && { rulesOf }),
  };
}

function resultOf({ verdict, error }: AccessDecision): AuthorizationResult {
  if (verdict === 'allow') return 'allowed';
  if (error || verdict === 'notReady') return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
