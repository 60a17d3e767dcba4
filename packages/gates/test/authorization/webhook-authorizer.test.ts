import { describe, expect, test } from '@jest/globals';
import { array, assert, asyncProperty, boolean, constantFrom, nat, record, tuple } from 'fast-check';
import { callUntil } from '@cluster-apiserver/base';
import type { AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import type { HttpsResponse } from '../../src/https/https-client.ts';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import {
  call,
  condition,
  fails,
  questionOf,
  says,
  type Script,
  scriptedWebhook,
  SkippingClock,
} from './scripted-webhook.ts';

const allows = says({ allowed: true });
const user: UserInfo = { name: 'ann', groups: [] };
const resource = {
  group: '',
  version: 'v1',
  resource: 'serviceaccounts',
  subresource: undefined,
  namespace: 'team',
  name: undefined,
};

describe('The review', () => {
  const specOf = async (question: AccessAttributes, version: 'v1' | 'v1beta1' = 'v1'): Promise<unknown> => {
    const hook = scriptedWebhook(new SkippingClock(), allows, { subjectAccessReviewVersion: version });
    await hook.authorizer.authorize(question, call);
    return hook.asked[0];
  };

  test('carries all attributes of the user and of a resource', async () => {
    const extra = { b: ['2'], a: ['1', '3'], ['__proto__']: ['x'] };
    const known = { name: 'ann', uid: 'u1', groups: ['devs', 'ops'], extra };
    const asked = { ...resource, group: 'apps', subresource: 'scale', name: 'web' };
    expect(await specOf({ user: known, verb: 'update', path: '/x', resource: asked })).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'ann',
        uid: 'u1',
        groups: ['devs', 'ops'],
        extra,
        resourceAttributes: {
          verb: 'update',
          namespace: 'team',
          group: 'apps',
          version: 'v1',
          resource: 'serviceaccounts',
          subresource: 'scale',
          name: 'web',
        },
      },
    });
  });

  test('of a path has non-resource attributes, and the groups field of its version', async () => {
    const question = questionOf('ann', { user: { name: 'ann', groups: ['devs'] }, path: '/metrics' });
    const nonResourceAttributes = { path: '/metrics', verb: 'get' };
    expect(await specOf(question)).toMatchObject({ spec: { user: 'ann', groups: ['devs'], nonResourceAttributes } });
    expect(await specOf(question, 'v1beta1')).toEqual({
      apiVersion: 'authorization.k8s.io/v1beta1',
      kind: 'SubjectAccessReview',
      spec: { user: 'ann', group: ['devs'], nonResourceAttributes },
    });
  });

  test.each([
    ['fields', { fieldSelector: { requirements: [{ key: 'spec.node', operator: 'In', values: ['n1'] }] } }],
    [
      'labels',
      {
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'NotIn', values: ['1'] },
            { key: 'd', operator: 'Exists' },
          ],
        },
      },
    ],
    ['nothing', {}],
  ])('narrows a list by the requirements of %s', async (_, selectors) => {
    const question = { user, verb: 'list', path: '/x', resource: { ...resource, ...selectors } };
    const { verb, version, namespace, resource: plural } = { ...resource, verb: 'list' };
    expect(await specOf(question)).toMatchObject({
      spec: { resourceAttributes: { verb, version, namespace, resource: plural, ...selectors } },
    });
    const { spec } = (await specOf(question)) as { spec: { resourceAttributes: object } };
    expect(Object.keys(spec.resourceAttributes).filter((key) => key.endsWith('Selector'))).toEqual(
      Object.keys(selectors),
    );
  });
});

describe('The cache', () => {
  test('returns a decision synchronously until it expires', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, allows, { authorizedTtlMs: 1_000, unauthorizedTtlMs: 100 });
    expect(await hook.authorizer.authorize(questionOf('ann'), call)).toEqual({ verdict: 'allow' });
    clock.advance(999);
    expect(hook.authorizer.authorize(questionOf('ann'), call)).toEqual({ verdict: 'allow' });
    hook.script = says({ allowed: false, reason: 'not you' });
    clock.advance(1);
    const refused = { verdict: 'noOpinion', reason: 'not you' };
    expect(await hook.authorizer.authorize(questionOf('ann'), call)).toEqual(refused);
    expect(hook.authorizer.authorize(questionOf('ann'), call)).toEqual(refused);
    hook.script = says({ allowed: false, denied: true });
    clock.advance(100);
    expect(await hook.authorizer.authorize(questionOf('ann'), call)).toEqual({ verdict: 'deny' });
    expect(hook.authorizer.authorize(questionOf('ann'), call)).toEqual({ verdict: 'deny' });
    expect(hook.asked).toHaveLength(3);
  });

  test.each([
    ['authorized answers', { authorizedTtlMs: 0 }, { allowed: true }],
    ['unauthorized answers', { unauthorizedTtlMs: 0 }, { allowed: false }],
    ['answers that contradict themselves', {}, { allowed: true, denied: true }],
    ['answers to requests that are too long', { name: 'x' }, { allowed: true }],
  ])('keeps no %s where it shall not', async (_, options, status) => {
    const hook = scriptedWebhook(new SkippingClock(), says(status), options);
    const path = 'name' in options ? `/${'x'.repeat(10_000)}` : '/a';
    for (let times = 0; times < 2; times++) await hook.authorizer.authorize(questionOf('ann', { path }), call);
    expect(hook.asked).toHaveLength(2);
  });

  test('reports answers that contradict themselves', async () => {
    const hook = scriptedWebhook(new SkippingClock(), says({ allowed: true, denied: true }));
    const { error } = await hook.authorizer.authorize(questionOf('ann'), call);
    expect(error).toMatchObject({ message: expect.stringContaining('both allowed and denied') });
    expect(hook.failures).toEqual([error]);
  });

  test('does not hold failures', async () => {
    const hook = scriptedWebhook(new SkippingClock(), () => ({ status: 200, body: 'x' }));
    for (let times = 0; times < 2; times++) await hook.authorizer.authorize(questionOf('ann'), call);
    expect(hook.asked).toHaveLength(2);
    expect(hook.counts).toEqual({ 'evaluated error': 2, 'failed open error': 2 });
  });

  test('never shares an entry between different requests', async () => {
    const users: UserInfo[] = [
      user,
      { ...user, name: 'Ann' },
      { ...user, name: 'ann ' },
      { ...user, name: 'a\u0308nn' },
      { ...user, name: '\u00e4nn' },
      { ...user, uid: 'ann' },
      { ...user, groups: ['a', 'b'] },
      { ...user, groups: ['b', 'a'] },
      { ...user, groups: ['a,b'] },
      { ...user, groups: ['["a","b"]'] },
      { ...user, groups: ['a"],"b":["'] },
      { ...user, extra: { a: ['b'] } },
      { ...user, extra: { a: ['b', ''] } },
      { ...user, extra: { ab: [''] } },
      { ...user, extra: { ['__proto__']: ['b'] } },
    ];
    const selecting = (operator: string) => ({ requirements: [{ key: 'a', operator, values: ['b'] }] });
    const fieldSelector = selecting('In');
    const parts: Partial<AccessAttributes>[] = [
      {},
      { verb: 'post' },
      { path: '/a/' },
      { resource },
      { resource, verb: 'list' },
      { resource: { ...resource, namespace: undefined } },
      { resource: { ...resource, name: 'a' } },
      { resource: { ...resource, resource: 'a', name: 'serviceaccounts' } },
      { resource: { ...resource, group: 'a' } },
      { resource: { ...resource, version: 'v2' } },
      { resource: { ...resource, subresource: 'token' } },
      { resource: { ...resource, fieldSelector } },
      { resource: { ...resource, labelSelector: fieldSelector } },
      { resource: { ...resource, fieldSelector: selecting('NotIn') } },
    ];
    const questions = users.flatMap((one) => parts.map((part) => questionOf('', { user: one, ...part })));
    const hook = scriptedWebhook(new SkippingClock(), ({ spec }) =>
      says({ allowed: true, reason: JSON.stringify(spec) })(
        { apiVersion: 'authorization.k8s.io/v1', spec },
        {} as never,
      ),
    );
    const reasons = await Promise.all(
      questions.map(async (question) => (await hook.authorizer.authorize(question, call)).reason),
    );
    expect(new Set(reasons).size).toBe(questions.length);
    for (const [index, question] of questions.entries())
      expect(hook.authorizer.authorize(question, call)).toMatchObject({ reason: reasons[index] });
    expect(hook.asked).toHaveLength(questions.length);
  });

  test('shares one entry between requests with equal reviews', async () => {
    const hook = scriptedWebhook(new SkippingClock(), allows);
    const asks = async (part: Partial<AccessAttributes>, extra: UserInfo['extra']): Promise<void> => {
      await hook.authorizer.authorize(questionOf('', { user: { ...user, extra, uid: '' }, ...part }), call);
    };
    await asks({ resource, path: '/x' }, { a: ['1'], b: ['2'] });
    await asks({ resource: { ...resource, subresource: '', name: '' }, path: '/y' }, { b: ['2'], a: ['1'] });
    expect(hook.asked).toHaveLength(1);
  });

  test('is bounded and evicts the least recently used entry', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, allows);
    const ask = async (name: string): Promise<void> => void (await hook.authorizer.authorize(questionOf(name), call));
    await ask('idle');
    await ask('busy');
    for (let at = 0; at < 16_384; at++) {
      await ask(`user-${at}`);
      if (at % 4_096 !== 0) continue;
      clock.advance(1_000);
      await ask('busy');
    }
    const before = hook.asked.length;
    await ask('busy');
    expect(hook.asked).toHaveLength(before);
    await ask('idle');
    expect(hook.asked).toHaveLength(before + 1);
  });

  test('is bounded by the size of its entries, too', async () => {
    const hook = scriptedWebhook(new SkippingClock(), says({ allowed: true, reason: 'x'.repeat(100_000) }));
    const ask = async (at: number) =>
      hook.authorizer.authorize(questionOf('ann', { path: `/${at}/${'x'.repeat(9_000)}` }), call);
    expect((await ask(0)).reason).toHaveLength(4_096);
    for (let at = 1; at < 1_000; at++) await ask(at);
    await ask(0);
    expect(hook.asked).toHaveLength(1_001);
  });
});

describe('Callers', () => {
  test('with the same concurrent request share one call', async () => {
    const answer = Promise.withResolvers<HttpsResponse>();
    const hook = scriptedWebhook(fakeClock(0), () => answer.promise);
    const gone = new AbortController();
    const leaving = hook.authorizer.authorize(questionOf('ann'), { ...call, signal: gone.signal });
    const staying = Array.from({ length: 5 }, async () => hook.authorizer.authorize(questionOf('ann'), call));
    gone.abort(new Error('the client left'));
    await expect(leaving).rejects.toThrow('the client left');
    answer.resolve(await allows({ apiVersion: 'authorization.k8s.io/v1', spec: {} }, {} as never));
    expect(await Promise.all(staying)).toEqual(staying.map(() => ({ verdict: 'allow' })));
    expect(hook.asked).toHaveLength(1);
    expect(hook.counts).toEqual({ 'evaluated success': 1 });
  });

  test('get their own deadline error, whatever the failure policy', async () => {
    const clock = fakeClock(0);
    for (const failurePolicy of ['NoOpinion', 'Deny'] as const) {
      const hook = scriptedWebhook(clock, () => new Promise(() => {}), { failurePolicy });
      const waiting = hook.authorizer.authorize(questionOf('ann'), callUntil(clock.monotonicMs() + 1_000));
      await Promise.resolve();
      clock.advance(1_000);
      await expect(waiting).rejects.toMatchObject({ name: 'DeadlineExceededError' });
      expect(hook.counts).toEqual({});
    }
  });
});

describe('A failing webhook', () => {
  const policies = ['NoOpinion', 'Deny'] as const;

  test.each(policies)('is tried five times within its timeout: %s', async (failurePolicy) => {
    const hook = scriptedWebhook(new SkippingClock(), fails(503), { failurePolicy, timeoutMs: 30_000 });
    const decision = await hook.authorizer.authorize(questionOf('ann'), call);
    expect(decision).toMatchObject({
      verdict: failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
      error: { message: 'authorizer "hook": a webhook gave no answer in 5 tries' },
    });
    expect(hook.asked).toHaveLength(5);
    expect(hook.failures).toEqual([decision.error]);
    const open = failurePolicy === 'Deny' ? {} : { 'failed open error': 1 };
    expect(hook.counts).toEqual({ 'evaluated error': 1, ...open });
  });

  test('that works at the second attempt has not failed', async () => {
    const hook = scriptedWebhook(new SkippingClock(), () => {
      hook.script = allows;
      return { status: 500, body: '' };
    });
    expect(await hook.authorizer.authorize(questionOf('ann'), call)).toEqual({ verdict: 'allow' });
    expect(hook.counts).toEqual({ 'evaluated success': 1 });
  });

  test.each([
    ['no JSON', 'x', 'a webhook did not answer with an object'],
    ['null', 'null', 'a webhook did not answer with an object'],
    ['no kind', '{"apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}', 'the response is not a Subject'],
    ['another kind', '{"apiVersion":"authorization.k8s.io/v1","kind":"TokenReview"}', 'the response is not a Subject'],
    [
      'another version',
      '{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","status":{"allowed":true}}',
      'the response is not a SubjectAccessReview of v1',
    ],
    ...(
      [
        [undefined, 'the response has no status'],
        [[true], 'status: expected an object, got a list'],
        [{}, 'status.allowed: Required value'],
        [{ allowed: 'true' }, 'status.allowed: expected true or false, got a string'],
        [{ allowed: 1 }, 'status.allowed: expected true or false, got a number'],
        [{ allowed: true, denied: 'false' }, 'status.denied: expected true or false, got a string'],
        [{ allowed: true, reason: ['x'] }, 'status.reason: expected a string, got a list'],
      ] as const
    ).map(([status, problem]): [string, string, string] => [
      `the status ${JSON.stringify(status)}`,
      JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status }),
      problem,
    ]),
  ])('that answers %s is asked once', async (_, body, problem) => {
    const hook = scriptedWebhook(new SkippingClock(), () => ({ status: 200, body }), { failurePolicy: 'Deny' });
    const { verdict, error } = await hook.authorizer.authorize(questionOf('ann'), call);
    expect([verdict, error?.message]).toEqual(['deny', expect.stringContaining(`authorizer "hook": ${problem}`)]);
    expect(hook.asked).toHaveLength(1);
  });

  test('is not called for a while after five failed attempts, then probed by one request', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, fails(500), { timeoutMs: 100 });
    const ask = async (name: string): Promise<string | undefined> =>
      (await hook.authorizer.authorize(questionOf(name), call)).error?.message;
    for (let at = 0; at < 5; at++) expect(await ask(`first-${at}`)).toContain('in 1 tries');
    expect(hook.asked).toHaveLength(5);
    for (let at = 0; at < 100; at++) expect(await ask(`next-${at}`)).toContain('the webhook does not answer');
    expect(hook.asked).toHaveLength(5);
    expect(hook.counts['rejected']).toBe(100);
    clock.advance(1_000);
    expect(await Promise.all([ask('a'), ask('b'), ask('c')])).toEqual([
      expect.stringContaining('in 1 tries'),
      expect.stringContaining('the webhook does not answer'),
      expect.stringContaining('the webhook does not answer'),
    ]);
    hook.script = allows;
    expect(await ask('a')).toContain('the webhook does not answer');
    clock.advance(1_000);
    expect(await ask('a')).toBeUndefined();
    expect(await ask('b')).toBeUndefined();
    expect(hook.asked).toHaveLength(8);
  });

  test('for one user is still called for the others', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(
      clock,
      (review, request) => {
        return (review.spec['user'] === 'eve' ? fails(500) : allows)(review, request);
      },
      { timeoutMs: 100 },
    );
    const ask = async (name: string, path: string): Promise<string | undefined> =>
      (await hook.authorizer.authorize(questionOf(name, { path }), call)).error?.message;
    for (let at = 0; at < 5; at++) expect(await ask('eve', `/${at}`)).toContain('in 1 tries');
    expect(await ask('eve', '/next')).toContain('the webhook does not answer');
    expect(await ask('ann', '/')).toBeUndefined();
    // The response to another one does not help her.
    expect(await ask('eve', '/next')).toContain('the webhook does not answer');
    clock.advance(1_000);
    expect(await ask('eve', '/next')).toContain('in 1 tries');
    expect(await ask('eve', '/next')).toContain('the webhook does not answer');
  });

  test('that hangs for one user holds a bounded number of requests of that user', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, (review, request) =>
      review.spec['user'] === 'eve' ? new Promise(() => {}) : allows(review, request),
    );
    const ask = (name: string, path: string) => hook.authorizer.authorize(questionOf(name, { path }), call);
    for (let at = 0; at < 60; at++) void ask('eve', `/${at}`);
    clock.advance(3_000);
    expect((await ask('ann', '/')).verdict).toBe('allow');
    clock.advance(3_000);
    for (let at = 60; at < 100; at++) void ask('eve', `/${at}`);
    await new Promise((resolve) => setImmediate(resolve));
    expect(hook.asked.filter(({ spec }) => spec['user'] === 'eve')).toHaveLength(61);
    expect(hook.counts['rejected']).toBe(39);
  });

  test('that hangs holds a bounded number of requests', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, () => new Promise(() => {}), { timeoutMs: 30_000 });
    const waiting: unknown[] = [];
    const ask = async (name: string): Promise<unknown> => {
      const decision = hook.authorizer.authorize(questionOf(name), call);
      waiting.push(decision);
      return Promise.race([decision, Promise.resolve().then(() => new Promise((resolve) => setImmediate(resolve)))]);
    };
    for (let at = 0; at < 100; at++) await ask(`first-${at}`);
    expect(hook.asked).toHaveLength(100);
    clock.advance(3_000);
    // One more to find out whether it is back, and no other.
    for (let at = 0; at < 50; at++) await ask(`next-${at}`);
    expect(hook.asked).toHaveLength(101);
    expect(hook.counts['rejected']).toBe(49);
  });

  test.each(policies)(
    'that comes and goes is right whenever it decides, and decides when it is back: %s',
    async (failurePolicy) => {
      const options = { timeoutMs: 100, failurePolicy, authorizedTtlMs: 2_000, unauthorizedTtlMs: 500 };
      const answers: Script = (review, request) =>
        says({ allowed: review.spec['user'] === 'good', denied: review.spec['user'] === 'bad' })(review, request);
      const right = { good: 'allow', bad: 'deny' } as const;
      const onFailure = failurePolicy === 'Deny' ? 'deny' : 'noOpinion';
      const questions = array(tuple(constantFrom('good', 'bad'), nat(49)), { minLength: 1, maxLength: 16 });
      const phases = array(record({ works: boolean(), laterMs: nat(1_999), questions }), {
        maxLength: 40,
        size: 'max',
      });
      await assert(
        asyncProperty(phases, async (all) => {
          const clock = fakeClock(0);
          const hook = scriptedWebhook(clock, answers, options);
          let afterFailures = 0;
          for (const phase of all) {
            hook.script = phase.works ? answers : fails(503);
            clock.advance(phase.laterMs);
            const isTrialDue = clock.monotonicMs() - afterFailures >= 1_000;
            for (const [name, path] of phase.questions) {
              const { verdict, error } = await hook.authorizer.authorize(questionOf(name, { path: `/${path}` }), call);
              expect(verdict).toBe(error ? onFailure : right[name]);
              if (phase.works && isTrialDue) expect(error).toBeUndefined();
              if (error) afterFailures = clock.monotonicMs();
            }
          }
        }),
        { numRuns: 35, seed: 7 },
      );
    },
  );

  test('keeps cached decisions valid', async () => {
    const clock = fakeClock(0);
    const hook = scriptedWebhook(clock, allows, { timeoutMs: 100, failurePolicy: 'Deny' });
    await hook.authorizer.authorize(questionOf('known'), call);
    hook.script = fails(500);
    for (let at = 0; at < 10; at++) await hook.authorizer.authorize(questionOf(`other-${at}`), call);
    expect(hook.authorizer.authorize(questionOf('known'), call)).toEqual({ verdict: 'allow' });
  });
});

describe('Match conditions', () => {
  const decide = async (texts: readonly string[], part: Partial<AccessAttributes> = {}) => {
    const hook = scriptedWebhook(new SkippingClock(), allows, { matchConditions: texts.map(condition) });
    const decision = await hook.authorizer.authorize(questionOf('ann', part), call);
    return { verdict: decision.verdict, counts: hook.counts, asked: hook.asked.length };
  };
  const matching = { verdict: 'allow', asked: 1, counts: { 'conditions evaluated': 1, 'evaluated success': 1 } };
  const excluded = { verdict: 'noOpinion', asked: 0, counts: { 'conditions evaluated': 1, excluded: 1 } };
  const failed = { verdict: 'noOpinion', asked: 0, counts: { 'conditions evaluated': 1, 'conditions failed': 1 } };

  test.each<[string, object, Partial<AccessAttributes>]>([
    ['has(resourceAttributes.verb)', matching, { resource }],
    ['has(resourceAttributes.verb)', excluded, {}],
    ['has(request.resourceAttributes)', matching, { resource }],
    ['has(request.resourceAttributes)', excluded, {}],
    ['has(nonResourceAttributes.path)', excluded, { resource }],
    ["request.nonResourceAttributes.path == '/a'", matching, {}],
    ["nonResourceAttributes.path == '/a'", matching, {}],
    ["resourceAttributes.namespace == 'team'", matching, { resource }],
    ["resourceAttributes.namespace == ''", matching, { resource: { ...resource, namespace: undefined } }],
    ["resourceAttributes.namespace == 'team'", failed, {}],
    ["request.resourceAttributes.namespace == 'team'", failed, {}],
    ["user == 'ann' && request.user == user && uid == ''", matching, {}],
    ['size(groups) == 0 && size(extra) == 0', matching, {}],
    ["'devs' in request.groups", matching, { user: { ...user, groups: ['devs'] } }],
    ["extra['scopes'].exists(s, s == 'x')", matching, { user: { ...user, extra: { scopes: ['x'] } } }],
    ["extra['scopes'].exists(s, s == 'x')", failed, {}],
    ["extra['__proto__'] == ['x']", matching, { user: { ...user, extra: { ['__proto__']: ['x'] } } }],
  ])('%s', async (text, expected, part) => {
    expect(await decide([text], part)).toEqual(expected);
  });

  test('that together cost too much are an error', async () => {
    const groups = Array.from({ length: 400 }, (_, at) => `g${at}`);
    const slow = Array.from({ length: 64 }, (_, at) => `groups.all(a, groups.exists(b, b == a || b == '${at}'))`);
    expect(await decide(slow, { user: { ...user, groups } })).toEqual(failed);
    expect(await decide([...slow, 'user != "ann"'], { user: { ...user, groups } })).toEqual(excluded);
    expect(await decide(slow.slice(0, 1), { user: { ...user, groups: groups.slice(0, 20) } })).toEqual(matching);
  });
});
