import { type FieldError, jsonField, notSupported, string } from '@cluster-apiserver/model';

export const failurePolicy = jsonField(
  string,
  'Behavior on errors. Fail: the request is rejected. Ignore: the error is ignored. Defaults to Fail.',
  'given',
);

const failurePolicies = ['Fail', 'Ignore'];

export const failurePolicyErrors = (at: string, policy: string | undefined): FieldError[] =>
  policy === undefined || failurePolicies.includes(policy) ? [] : [notSupported(at, policy, failurePolicies)];
