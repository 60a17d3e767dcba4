import { runSync, type SyncTask } from '@cluster-apiserver/base';
import { expect, test } from '@jest/globals';
import { Problems } from '@cluster-apiserver/model';
import type { Kind } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { validatingAdmissionPolicyBinding } from './validating-admission-policy-binding.ts';
import { validatingWebhookConfiguration } from './validating-webhook-configuration.ts';
import { byServer } from '../../test/by-server.ts';

function* problemsOf({ schema, validate, validateInSteps }: Kind, fields: object): SyncTask<Problems> {
  const object = decode(schema, { metadata: { name: 'a' }, ...fields }, () => {});
  const problems = new Problems();
  validate?.(object, undefined, problems, byServer);
  if (validateInSteps) yield* validateInSteps(object, undefined, problems, byServer);
  return problems;
}
const texts = (count: number): string[] => Array.from({ length: count }, (_, index) => `text-${index}`);

test('of many invalid actions the first errors are reported, and the others counted', () => {
  const spec = { policyName: 'p', validationActions: [...texts(5_000), 'text-0'] };
  const { errors, count } = runSync(problemsOf(validatingAdmissionPolicyBinding, { spec }));
  expect([errors.length, count]).toEqual([100, 5_002]);
});

test('many webhooks, rules and segments of a path are validated in steps', () => {
  const service = { namespace: 'n', name: 's', path: `/${texts(5_000).join('/')}` };
  const webhooks = [
    ...texts(50).map((name) => ({ name })),
    { name: 'rules', rules: texts(50).map((operation) => ({ operations: [operation] })) },
    { name: 'path', clientConfig: { service } },
  ];
  let steps = 0;
  const task = problemsOf(validatingWebhookConfiguration, { webhooks });
  while (!task.next().done) steps++;
  expect(steps).toBeGreaterThan(50 + 50 + 5);
});

const problemsOfPath = (path: string): Problems => {
  const service = { namespace: 'n', name: 's', path, port: 1 };
  const webhook = { name: 'a.b.c', sideEffects: 'None', admissionReviewVersions: ['v1'], clientConfig: { service } };
  return runSync(problemsOf(validatingWebhookConfiguration, { webhooks: [webhook] }));
};

test.each<[string, readonly unknown[]]>([
  ['/a/b', []],
  ['/a/b/', []],
  ['//', ['segment[0]']],
  ['/a//B/', ['segment[1]', 'segment[2]']],
  ['a', [undefined, 'segment[0]']],
])('in the path %s the segments that are invalid are named', (path, segments) => {
  expect(problemsOfPath(path).errors.map(({ message }) => /segment\[\d+\]/.exec(message)?.[0])).toEqual(segments);
});

test('of a path with a million segments that are empty the first errors are reported', () => {
  expect(problemsOfPath('/'.repeat(1_000_000)).count).toBe(999_999);
});
