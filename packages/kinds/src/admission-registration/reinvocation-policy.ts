import type { Problems } from '@cluster-apiserver/model';

const reinvocationPolicies = ['IfNeeded', 'Never'];

export function validateReinvocationPolicy(policy: string, problems: Problems): void {
  if (!reinvocationPolicies.includes(policy)) problems.notSupported(policy, reinvocationPolicies);
}
