import { type FieldError, notSupported } from '@cluster-apiserver/model';

const reinvocationPolicies = ['IfNeeded', 'Never'];

export const reinvocationPolicyErrors = (at: string, policy: string): FieldError[] =>
  reinvocationPolicies.includes(policy) ? [] : [notSupported(at, policy, reinvocationPolicies)];
