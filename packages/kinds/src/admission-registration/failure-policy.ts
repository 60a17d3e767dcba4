import { type FieldError, field, notSupported, string } from '@cluster-apiserver/model';

export const failurePolicy = field(
  string,
  'What an error means. Fail: the request is refused. Ignore: it goes on. Defaults to Fail.',
  'given',
);

const failurePolicies = ['Fail', 'Ignore'];

export const failurePolicyErrors = (at: string, policy: string | undefined): FieldError[] =>
  policy === undefined || failurePolicies.includes(policy) ? [] : [notSupported(at, policy, failurePolicies)];
