/** Metrics of admission policies, with the names of kube-apiserver. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPolicyServer, type PolicyServer, type PolicyType } from './policy-server.ts';

let server: PolicyServer;
beforeAll(async () => {
  server = await openPolicyServer();
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});

const digits = '[0,1,2,3,4,5,6,7,8,9]';
const endless = `${Array.from({ length: 7 }, (_, i) => `${digits}.all(x${i}, `).join('')}true${')'.repeat(7)}`;
const failing = 'object.metadata.absent == "a"';
const label = (value: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression: `Object{metadata: Object.metadata{labels: {"a": ${value}}}}` },
});
const condition = (expression: string): object => ({ matchConditions: [{ name: 'c', expression }] });
const holds = { validations: [{ expression: 'true' }] };
const denies = { validations: [{ expression: 'false' }] };

/** The counts of one policy, without its name. */
async function countedFor(type: PolicyType, spec: object, binding?: object): Promise<readonly string[]> {
  const end = await server.enforce(type, spec, binding);
  server.takeCounted();
  await server.request('POST', '/api/v1/namespaces/default/serviceaccounts?dryRun=All', { metadata: { name: 'a' } });
  const counted = server.takeCounted();
  await end();
  return counted.map((line) => line.replaceAll(/ p\d+/g, ''));
}

describe('of a validating policy', () => {
  test.each<[string, object, object | undefined, string[]]>([
    ['a successful validation does not count', holds, undefined, []],
    ['a denial counts', denies, undefined, ['checked no_error deny']],
    [
      'each action counts',
      denies,
      { validationActions: ['Deny', 'Audit'] },
      ['checked no_error audit', 'checked no_error deny'],
    ],
    ['a warning counts', denies, { validationActions: ['Warn'] }, ['checked no_error warn']],
    [
      'each failure counts',
      { validations: [...denies.validations, ...denies.validations] },
      undefined,
      ['checked no_error deny', 'checked no_error deny'],
    ],
    ['an error counts', { validations: [{ expression: failing }] }, undefined, ['checked invalid_error deny']],
    [
      'an ignored error is allowed',
      { validations: [{ expression: failing }], failurePolicy: 'Ignore' },
      undefined,
      ['checked invalid_error allow'],
    ],
    [
      'an endless expression counts',
      { validations: [{ expression: endless }] },
      undefined,
      ['checked out_of_budget deny'],
    ],
    [
      'an audit annotation that fails counts',
      { auditAnnotations: [{ key: 'a', valueExpression: 'string(object.metadata.absent)' }] },
      { validationActions: ['Warn'] },
      ['checked invalid_error deny'],
    ],
    ['a condition that is false excludes', { ...denies, ...condition('false') }, undefined, ['excluded CREATE']],
    [
      'a failing condition counts, and so does the policy',
      { ...denies, ...condition(failing) },
      undefined,
      ['failed CREATE', 'checked invalid_error deny'],
    ],
  ])('%s', async (_, spec, binding, expected) => {
    expect(await countedFor('validating', spec, binding)).toEqual(expected);
  });
});

describe('of a mutating policy', () => {
  test.each<[string, object, string[]]>([
    [
      'each mutation counts',
      { mutations: [label('"a"'), label('"b"')] },
      ['checked no_error allow', 'checked no_error allow'],
    ],
    [
      'an error counts, and the next mutation too',
      { mutations: [label('string(object.metadata.absent)'), label('"b"')] },
      ['checked invalid_error deny', 'checked no_error allow'],
    ],
    [
      'an endless expression counts, and the next mutation too',
      { mutations: [label(`${endless} ? "a" : "b"`), label('"b"')] },
      ['checked out_of_budget deny', 'checked no_error allow'],
    ],
    ['a condition that is false excludes', { mutations: [label('"a"')], ...condition('false') }, ['excluded CREATE']],
    ['only a failing condition counts', { mutations: [label('"a"')], ...condition(failing) }, ['failed CREATE']],
  ])('%s', async (_, spec, expected) => {
    expect(await countedFor('mutating', spec)).toEqual(expected);
  });
});
