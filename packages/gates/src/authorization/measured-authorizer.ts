import { type Call, type Clock, settle } from '@cluster-apiserver/base';
import type { AccessAttributes, AccessDecision } from '@cluster-apiserver/model';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { createResultCounter } from '../result-counter.ts';
import type { Authorizer } from './authorizer.ts';

/** As in kube-apiserver: `error` means not allowed because an authorizer could not decide. */
const results = ['allowed', 'denied', 'no-opinion', 'error'] as const;

/** Measures each attempt of an authorizer. */
export function createMeasuredAuthorizer(inner: Authorizer, clock: Clock, metrics: Metrics): Authorizer {
  const count = createResultCounter(
    metrics,
    results,
    {
      name: 'authorization_attempts_total',
      help: "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'. Includes the permissions that impersonation requires.",
    },
    { name: 'authorization_duration_seconds', help: 'Authorization duration in seconds broken out by result.' },
  );
  const attempt = ({ attributes, call }: Attempt): AccessDecision | Promise<AccessDecision> =>
    inner.authorize(attributes, call);
  const ended = (decision: AccessDecision, { startMs }: Attempt): AccessDecision => {
    count(resultOf(decision), (clock.monotonicMs() - startMs) / 1000);
    return decision;
  };
  const failed = (error: unknown, { startMs }: Attempt): never => {
    count('error', (clock.monotonicMs() - startMs) / 1000);
    throw error;
  };
  const { rulesOf } = inner;
  return {
    authorize: (attributes, call) => settle(attempt, { attributes, call, startMs: clock.monotonicMs() }, ended, failed),
    ...(rulesOf && { rulesOf }),
  };
}

interface Attempt {
  readonly attributes: AccessAttributes;
  readonly call: Call;
  readonly startMs: number;
}

function resultOf({ verdict, error }: AccessDecision): (typeof results)[number] {
  if (verdict === 'allow') return 'allowed';
  if (error || verdict === 'notReady') return 'error';
  return verdict === 'deny' ? 'denied' : 'no-opinion';
}
