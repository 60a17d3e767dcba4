import type { Call } from '@cluster-apiserver/base';
import { type AccessDecision, decisionNotReady, type ResourceAttributes } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { AdmissionContext } from './admission.ts';

/** Whether the writer of an object has another right, too. Throws while an authorizer is not ready. */
export async function decideRight(
  { user, call }: AdmissionContext,
  authorizer: Authorizer,
  verb: string,
  resource: ResourceAttributes,
): Promise<AccessDecision> {
  const decision = await authorizer.authorize({ user, verb, path: '', resource }, call);
  if (decision.verdict === 'notReady') throw decisionNotReady();
  return decision;
}

/** Looks again after a refresh: what a refusal misses may just have been written through another replica. */
export async function findRefusalTwice<Refusal>(
  find: () => Promise<Refusal | undefined>,
  refresh: (call: Call) => Promise<void>,
  call: Call,
): Promise<Refusal | undefined> {
  if ((await find()) === undefined) return undefined;
  await refresh(call);
  return find();
}
