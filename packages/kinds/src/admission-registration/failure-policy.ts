import { jsonField, type Problems, string } from '@cluster-apiserver/model';

export const failurePolicy = jsonField(
  string,
  'Behavior on errors. Fail: the request is rejected. Ignore: the error is ignored. Defaults to Fail.',
  'given',
);

const failurePolicies = ['Fail', 'Ignore'];

export function validateFailurePolicy(policy: string | undefined, problems: Problems): void {
  if (policy !== undefined && !failurePolicies.includes(policy)) problems.notSupported(policy, failurePolicies);
}
