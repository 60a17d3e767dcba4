import { jsonField, string } from '@cluster-apiserver/model/schema';

/** What webhooks and policies choose alike. */

export const failurePolicy = jsonField(
  string,
  'Behavior on errors. Fail: the request is rejected. Ignore: the error is ignored. Defaults to Fail.',
  'given',
);

export const failurePolicies = ['Fail', 'Ignore'];
export const reinvocationPolicies = ['IfNeeded', 'Never'];
