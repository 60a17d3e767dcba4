import { callUntil, systemClock } from '@cluster-apiserver/base';
import { type AccessDecision, type AccessAttributes, StatusError } from '@cluster-apiserver/model';
import type { KubeObject, Review } from '@cluster-apiserver/model/kind';
import { describe, expect, test } from '@jest/globals';
import { reviews } from './reviews.ts';

/** All access reviews over an authorizer that records its calls. */

const call = callUntil(Number.POSITIVE_INFINITY);
const asker = { name: 'ann', groups: ['system:authenticated'] };
const kinds = ['SubjectAccessReview', 'SelfSubjectAccessReview', 'LocalSubjectAccessReview'] as const;

async function answer(
  kind: string,
  spec: object,
  decision: AccessDecision = { verdict: 'noOpinion' },
): Promise<{ spec: unknown; status: unknown; asked: AccessAttributes[] }> {
  const asked: AccessAttributes[] = [];
  const all = reviews({
    clock: systemClock,
    authenticateToken: () => Promise.reject(new Error('no token is asked about')),
    authorize: (attributes) => {
      asked.push(attributes);
      return decision;
    },
    rulesOf: () => ({ resource: [], nonResource: [], incomplete: false }),
  });
  const review = all.find((one) => one.kind === kind) as Review;
  const metadata = kind === 'LocalSubjectAccessReview' ? { namespace: 'a' } : {};
  // Only what an access review looks at.
  const object = { apiVersion: review.apiVersion, kind, metadata, spec } as unknown as KubeObject;
  const answered = (await review.answer(object, asker, call)) as unknown as { spec: unknown; status: unknown };
  return { spec: answered.spec, status: answered.status, asked };
}

const listing = { namespace: 'a', verb: 'list', resource: 'events' };
/** The attributes that authorizers get. */
const questionOf = {
  group: '',
  version: '*',
  resource: listing.resource,
  namespace: listing.namespace,
  subresource: undefined,
  name: undefined,
};
const bob = { user: 'bob' };
const asked = (kind: string, resource: object): object => ({
  ...(kind !== 'SelfSubjectAccessReview' && bob),
  resourceAttributes: { ...listing, ...resource },
});

async function causesOf(promise: Promise<unknown>): Promise<unknown> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StatusError)) throw new Error('it was not refused', { cause: error });
  return error.details?.causes?.map(({ field, message }) => `${field}: ${message}`);
}

describe.each(kinds)('a selector in a %s', (kind) => {
  const one = (key: string, operator: string, ...values: string[]): object => ({
    requirements: [{ key, operator, values }],
  });
  const fieldSelector = 'spec.resourceAttributes.fieldSelector';
  const labelSelector = 'spec.resourceAttributes.labelSelector';

  test.each<[string, object, object]>([
    [
      'raw fields',
      { fieldSelector: { rawSelector: 'metadata.name=a,spec.x!=b\\,c' } },
      {
        fieldSelector: {
          requirements: [
            { key: 'metadata.name', operator: 'In', values: ['a'] },
            { key: 'spec.x', operator: 'NotIn', values: ['b,c'] },
          ],
        },
      },
    ],
    [
      'raw labels',
      { labelSelector: { rawSelector: 'a=1,b!=2,c in (3,4),d notin (5),e,!f,g>6' } },
      {
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'In', values: ['1'] },
            { key: 'b', operator: 'NotIn', values: ['2'] },
            { key: 'c', operator: 'In', values: ['3', '4'] },
            { key: 'd', operator: 'NotIn', values: ['5'] },
            { key: 'e', operator: 'Exists' },
            { key: 'f', operator: 'DoesNotExist' },
          ],
        },
      },
    ],
    ['fields', { fieldSelector: one('a', 'In', 'b') }, { fieldSelector: one('a', 'In', 'b') }],
    [
      'labels',
      {
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'Exists', values: [] },
            { key: 'b', operator: 'In', values: ['c'] },
          ],
        },
      },
      {
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'Exists' },
            { key: 'b', operator: 'In', values: ['c'] },
          ],
        },
      },
    ],
  ])('of %s becomes requirements for authorizers and stays in the response', async (_, selectors, requirements) => {
    const spec = asked(kind, selectors);
    const answered = await answer(kind, spec);
    expect(answered.spec).toEqual(spec);
    expect(answered.status).toEqual({ allowed: false, denied: false });
    expect(answered.asked[0]?.resource).toEqual({ ...questionOf, ...requirements });
  });

  test.each<[string, object, string]>([
    ['an unknown operator for a field', { fieldSelector: one('a', 'Like', 'x') }, `${fieldSelector} ignored`],
    ['an operator that fields do not have', { fieldSelector: one('a', 'Exists') }, `${fieldSelector} ignored`],
    ['several values for a field', { fieldSelector: one('a', 'In', 'x', 'y') }, `${fieldSelector} ignored`],
    ['raw fields that are none', { fieldSelector: { rawSelector: 'a' } }, `${fieldSelector} ignored`],
    ['an unknown operator for a label', { labelSelector: one('a', 'Gt', '1') }, `${labelSelector} ignored`],
    ['raw labels that are none', { labelSelector: { rawSelector: 'a==(' } }, `${labelSelector} ignored`],
  ])('with %s is left out, and the response has an evaluationError', async (_, selectors, problem) => {
    const { status, asked: questions } = await answer(kind, asked(kind, selectors));
    expect(status).toMatchObject({ allowed: false, evaluationError: `${problem} due to parse error` });
    expect(questions[0]?.resource).toEqual(questionOf);
  });

  test('that is understood in part counts in that part', async () => {
    const requirements = [
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'c', operator: 'Like', values: ['d'] },
    ];
    const spec = asked(kind, { fieldSelector: { requirements }, labelSelector: { requirements } });
    const { status, asked: questions } = await answer(kind, spec, {
      verdict: 'noOpinion',
      error: new Error('the webhook is away'),
    });
    expect(questions[0]?.resource).toMatchObject({
      fieldSelector: { requirements: requirements.slice(0, 1) },
      labelSelector: { requirements: requirements.slice(0, 1) },
    });
    expect(status).toMatchObject({
      evaluationError: `the webhook is away; ${fieldSelector} partially ignored due to parse error; ${labelSelector} partially ignored due to parse error`,
    });
  });

  test.each<[object, readonly string[]]>([
    [
      { fieldSelector: { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'In', values: ['b'] }] } },
      [`${fieldSelector}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`],
    ],
    [
      { fieldSelector: {}, labelSelector: {} },
      [
        `${fieldSelector}.requirements: Required value: when ${fieldSelector} is specified, requirements or rawSelector is required`,
        `${labelSelector}.requirements: Required value: when ${labelSelector} is specified, requirements or rawSelector is required`,
      ],
    ],
    [
      { fieldSelector: { requirements: [{ operator: 'In' }] } },
      [
        `${fieldSelector}.requirements[0].key: Required value: must be specified`,
        `${fieldSelector}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
    ],
    [
      { labelSelector: one('a', 'DoesNotExist', 'x') },
      [
        `${labelSelector}.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
    [
      { labelSelector: one('a_', 'In', 'x_') },
      [
        expect.stringContaining(`${labelSelector}.requirements[0].key: Invalid value: "a_"`),
        expect.stringContaining(`${labelSelector}.requirements[0].values[0]: Invalid value: "x_"`),
      ] as unknown as string[],
    ],
  ])('%j is refused', async (selectors, causes) => {
    expect(await causesOf(answer(kind, asked(kind, selectors)))).toEqual(causes);
  });
});

test.each<[AccessDecision, object]>([
  [{ verdict: 'allow' }, { allowed: true, denied: false }],
  [
    { verdict: 'allow', reason: 'a rule' },
    { allowed: true, denied: false, reason: 'a rule' },
  ],
  [
    { verdict: 'deny', reason: 'never' },
    { allowed: false, denied: true, reason: 'never' },
  ],
  [
    { verdict: 'noOpinion', reason: 'no rule' },
    { allowed: false, denied: false, reason: 'no rule' },
  ],
  [
    { verdict: 'allow', error: new Error('a role is not there') },
    { allowed: true, denied: false, evaluationError: 'a role is not there' },
  ],
])('the decision %j is answered as it is', async (decision, status) => {
  for (const kind of kinds) expect((await answer(kind, asked(kind, {}), decision)).status).toEqual(status);
});

test('authorizers get all attributes of the user and the action', async () => {
  const user = { user: 'bob', groups: ['devs'], uid: 'u7', extra: { 'acme.com/project': ['x', 'y'] } };
  const what = {
    group: 'apps',
    version: 'v1',
    resource: 'deployments',
    subresource: 'scale',
    name: 'web',
    namespace: 'a',
    verb: 'update',
  };
  const { asked: questions } = await answer('SubjectAccessReview', { ...user, resourceAttributes: what });
  const { verb, ...resource } = what;
  const { user: name, ...rest } = user;
  expect(questions).toEqual([{ user: { name, ...rest }, verb, path: '', resource }]);
  const path = await answer('SubjectAccessReview', {
    ...bob,
    nonResourceAttributes: { path: '/metrics', verb: 'get' },
  });
  expect(path.asked).toEqual([
    { user: { name: 'bob', groups: [], uid: undefined, extra: undefined }, verb: 'get', path: '/metrics' },
  ]);
  const self = await answer('SelfSubjectAccessReview', { resourceAttributes: listing });
  expect(self.asked[0]?.user).toBe(asker);
});

test('a review of the rules of oneself answers without the question', async () => {
  const answered = await answer('SelfSubjectRulesReview', { namespace: 'a' });
  expect(answered.spec).toEqual({});
  expect(answered.status).toEqual({ resourceRules: [], nonResourceRules: [], incomplete: false });
});
