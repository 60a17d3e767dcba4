/** When policies become active, and that neither compilation nor evaluation blocks other requests. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { callUntil, type Clock, systemClock } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { StaticPolicies, StaticSource } from '@cluster-apiserver/policies';
import { revision as revisionOf } from '@cluster-apiserver/storage';
import { until } from '@cluster-apiserver/testkit/until';
import { openPolicyServer, type PolicyServer, type PolicyServerOptions, registration } from './policy-server.ts';

let server: PolicyServer;
afterEach(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const dryRun = `${accounts}?dryRun=All`;
const account = { metadata: { name: 'a' } };
const statusOf = async (method: string, path: string, body?: object): Promise<number> =>
  (await server.request(method, path, body)).status;

test('a policy is active as soon as its creation is acknowledged, and inactive as soon as its deletion is', async () => {
  server = await openPolicyServer();
  for (let round = 0; round < 50; round++) {
    const end = await server.enforce('validating', { validations: [{ expression: 'false' }] });
    expect(await statusOf('POST', dryRun, account)).toBe(422);
    await end();
    expect(await statusOf('POST', dryRun, account)).toBe(201);
  }
});

test('a change under load applies to every write that starts after it', async () => {
  server = await openPolicyServer();
  let expected = 'changing';
  let isOver = false;
  const faults: string[] = [];
  let writes = 0;
  const write = async (): Promise<void> => {
    while (!isOver) {
      const before = expected;
      const { body } = await server.request('POST', dryRun, account);
      const found = body.message?.replace(/^.*denied request: /s, '') ?? '';
      if (before !== 'changing' && before === expected && found !== before)
        faults.push(`${found} instead of ${before}`);
      writes++;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const writers = [write(), write(), write()];
  const end = await server.enforce('validating', { validations: [{ expression: 'false', message: 'start' }] });
  expected = 'start';
  const policies = `${registration}/validatingadmissionpolicies`;
  const { items } = (await server.request('GET', policies)).body as unknown as {
    items: { metadata: { name: string } }[];
  };
  const name = items[0]?.metadata.name ?? '';
  for (let round = 0; round < 50; round++) {
    const spec = { validations: [{ expression: 'false', message: `round ${round}` }] };
    expected = 'changing';
    await server.request('PATCH', `${policies}/${name}`, { spec }, 'application/merge-patch+json');
    expected = `round ${round}`;
    const seen = writes;
    await until('writes under this policy', () => writes > seen + 2 || undefined);
  }
  expected = 'changing';
  await end();
  isOver = true;
  await Promise.all(writers);
  expect(faults).toEqual([]);
});

/** A clock that advances by a time slice on every read, so that all work of several steps yields. */
function slowClock(): Clock & { readonly turns: number } {
  let ms = 0;
  let turns = 0;
  return {
    ...systemClock,
    monotonicMs: () => (ms += 10),
    soon: (callback) => {
      turns++;
      setImmediate(callback);
    },
    get turns() {
      return turns;
    },
  };
}

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('the event loop is free between steps', () => {
  test.each<[string, object]>([
    ['many validations', { validations: many(500).map((i) => ({ expression: `object.metadata.name != 'x${i}'` })) }],
    [
      'many variables',
      {
        variables: many(500).map((i) => ({ name: `v${i}`, expression: i === 0 ? '1' : `variables.v${i - 1} + 1` })),
        validations: [{ expression: 'true' }],
      },
    ],
    [
      'many conditions and annotations',
      {
        matchConditions: many(60).map((i) => ({ name: `c${i}`, expression: `object.metadata.name != 'x${i}'` })),
        auditAnnotations: many(20).map((i) => ({ key: `k${i}`, valueExpression: `'x${i}'` })),
      },
    ],
  ])('of checking, compiling and evaluating a policy with %s', async (_, spec) => {
    const clock = slowClock();
    server = await openPolicyServer({ clock });
    const before = clock.turns;
    await server.enforce('validating', spec);
    const checked = clock.turns;
    expect(checked - before).toBeGreaterThan(20);
    expect(await statusOf('POST', dryRun, account)).toBe(201);
    expect(clock.turns - checked).toBeGreaterThan(20);
  });

  test('of compiling many policies', async () => {
    const clock = slowClock();
    server = await openPolicyServer({ clock });
    for (const index of many(30))
      await server.enforce('validating', { validations: [{ expression: `object.metadata.name != 'x${index}'` }] });
    expect(await statusOf('POST', dryRun, { metadata: { name: 'x29' } })).toBe(422);
    expect(await statusOf('POST', dryRun, { metadata: { name: 'x0' } })).toBe(422);
    expect(await statusOf('POST', dryRun, account)).toBe(201);
  });

  test('of an endless expression', async () => {
    const clock = slowClock();
    server = await openPolicyServer({ clock });
    const digits = '[0,1,2,3,4,5,6,7,8,9]';
    const endless = `${many(7)
      .map((i) => `${digits}.all(x${i}, `)
      .join('')}true${')'.repeat(7)}`;
    await server.enforce('validating', { validations: [{ expression: endless }] });
    const before = clock.turns;
    expect(await statusOf('POST', dryRun, account)).toBe(422);
    // 250,000 steps, of which a turn takes 5,000.
    expect(clock.turns - before).toBeGreaterThan(20);
  });

  test('of a selector that matches many parameters', async () => {
    const clock = slowClock();
    server = await openPolicyServer({ clock, authorizer: { authorize: () => ({ verdict: 'allow' }) } });
    for (const index of many(200))
      await server.request('POST', accounts, { metadata: { name: `param-${index}`, labels: { role: 'param' } } });
    await server.enforce(
      'validating',
      { paramKind: { apiVersion: 'v1', kind: 'ServiceAccount' }, validations: [{ expression: 'params != null' }] },
      { paramRef: { selector: { matchLabels: { role: 'param' } }, parameterNotFoundAction: 'Deny' } },
    );
    const before = clock.turns;
    expect(await statusOf('POST', dryRun, account)).toBe(201);
    expect(clock.turns - before).toBeGreaterThan(3);
  });
});

describe('an expensive policy for an object of a megabyte', () => {
  const words = many(4_000).map((i) => `word-${i}-${'x'.repeat(200)}`);
  const large = {
    metadata: { name: 'large', annotations: { text: 'a'.repeat(200_000) } },
    secrets: words.map((name) => ({ name })),
  };
  const text = 'object.metadata.annotations.text';

  test.each<[string, string]>([
    ['iterates over nested lists', 'object.secrets.all(a, object.secrets.all(b, a.name != b.name || a == b))'],
    ['creates nested lists', 'object.secrets.map(a, object.secrets.map(b, [a, b])).size() > 0'],
    ['compares the object with itself', 'object.secrets.all(a, object == object)'],
    ['matches an expensive pattern', `object.secrets.all(a, !${text}.matches('^(a+)+$b'))`],
    ['searches for near matches', `object.secrets.all(a, ${text}.findAll('a*b|a').size() > 0)`],
    ['doubles a string repeatedly', `${many(30).reduce((inner) => `[${inner}].map(t, t + t)[0]`, text)}.size() > 0`],
    ['joins strings', `object.secrets.map(a, ${text}).join(${text}).size() > 0`],
    ['replaces each letter by the whole string', `${text}.replace('a', ${text}).size() > 0`],
    ['compares long strings', `object.secrets.map(a, ${text} + a.name).isSorted()`],
  ])('that %s is ended by its cost, and other requests are served meanwhile', async (_, expression) => {
    server = await openPolicyServer();
    await server.enforce('validating', {
      matchConditions: [{ name: 'large', expression: "object.metadata.name == 'large'" }],
      validations: [{ expression }],
    });
    const deny = async (): Promise<void> => {
      const { status, body } = await server.request('POST', dryRun, large);
      expect([status, body.message]).toEqual([422, expect.stringContaining('cost')]);
    };
    // On a busy machine the expensive request may be over before the other one.
    await until('another request to be served meanwhile', async () => {
      let isOver = false;
      const denied = deny().finally(() => (isOver = true));
      expect(await statusOf('POST', dryRun, account)).toBe(201);
      const wasMeanwhile = !isOver;
      await denied;
      return wasMeanwhile || undefined;
    });
  });
});

/** A webhook that denies everything, with its path as message. */
const denies: PolicyServerOptions = {
  webhook: async ({ url, body = '' }) => {
    const { apiVersion, request } = JSON.parse(body) as { apiVersion: string; request: { uid: string } };
    const response = { uid: request.uid, allowed: false, status: { message: url.pathname.slice(1) } };
    return { status: 200, body: JSON.stringify({ kind: 'AdmissionReview', apiVersion, response }) };
  },
};
const webhookPlurals = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'] as const;
const configuration = (name: string, resources = ['*/*'], apiGroups = ['*']): object => ({
  metadata: { name },
  webhooks: [
    {
      name: `${name}.example.com`,
      clientConfig: { url: `https://hooks.example.com/${name}` },
      rules: [{ operations: ['*'], apiGroups, apiVersions: ['*'], resources }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
});

describe.each(webhookPlurals)('webhooks of %s', (plural) => {
  const configurations = `${registration}/${plural}`;

  test('are active as soon as they are acknowledged, and inactive as soon as their deletion is', async () => {
    server = await openPolicyServer(denies);
    for (let round = 0; round < 50; round++) {
      expect(await statusOf('POST', configurations, configuration('a'))).toBe(201);
      expect(await statusOf('POST', dryRun, account)).toBe(400);
      expect(await statusOf('DELETE', `${configurations}/a`)).toBe(200);
      expect(await statusOf('POST', dryRun, account)).toBe(201);
    }
  });

  test('with many match conditions are compiled in steps', async () => {
    const clock = slowClock();
    server = await openPolicyServer({ ...denies, clock });
    const { webhooks: [webhook] = [], ...rest } = configuration('a') as { webhooks?: object[] };
    const conditions = many(64).map((i) => ({ name: `c${i}`, expression: `object.metadata.name != 'x${i}'` }));
    const webhooks = many(5).map((i) => ({ ...webhook, name: `${i}.example.com`, matchConditions: conditions }));
    expect(await statusOf('POST', configurations, { ...rest, webhooks })).toBe(201);
    const before = clock.turns;
    expect(await statusOf('POST', dryRun, account)).toBe(400);
    expect(clock.turns - before).toBeGreaterThan(100);
  });
});

/** Objects from files, which a test can change. */
function fileSource<Objects>(current: Objects): StaticSource<Objects> & { change(next: Objects): void } {
  const listeners: (() => void)[] = [];
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    change: (next) => {
      current = next;
      for (const listener of listeners) listener();
    },
  };
}

describe('changed files are compiled in steps while the previous ones stay active', () => {
  const policies = (count: number, message: string): StaticPolicies => ({
    policies: many(count).map((i) => ({
      kind: 'ValidatingAdmissionPolicy',
      apiVersion: 'admissionregistration.k8s.io/v1',
      metadata: { name: `p${i}.static.k8s.io` },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] },
          ],
        },
        validations: [{ expression: 'false', message }],
      },
    })),
    bindings: many(count).map((i) => ({
      kind: 'ValidatingAdmissionPolicyBinding',
      apiVersion: 'admissionregistration.k8s.io/v1',
      metadata: { name: `p${i}.static.k8s.io` },
      spec: { policyName: `p${i}.static.k8s.io`, validationActions: ['Deny'] },
    })),
  });

  test('those of policies', async () => {
    const clock = slowClock();
    const validating = fileSource(policies(1, 'first'));
    server = await openPolicyServer({ clock, fromFiles: { validating } });
    const message = async (): Promise<string> =>
      ((await server.request('POST', dryRun, account)).body.message ?? '').replace(/^.*denied request: /s, '');
    expect(await message()).toBe('first');
    const before = clock.turns;
    validating.change(policies(100, 'second'));
    await until('the new files to be active', async () => (await message()) === 'second' || undefined);
    expect(clock.turns - before).toBeGreaterThan(100);
  });

  test('those of webhooks', async () => {
    const of = (name: string): KubeObject => configuration(name) as KubeObject;
    const validatingWebhooks = fileSource([of('a')]);
    server = await openPolicyServer({ ...denies, fromFiles: { validatingWebhooks } });
    const message = async (): Promise<string> => (await server.request('POST', dryRun, account)).body.message ?? '';
    expect(await message()).toContain('denied the request: a');
    validatingWebhooks.change([of('b')]);
    await until('the new files to be active', async () => (await message()).endsWith('request: b') || undefined);
  });
});

describe('an unreadable object', () => {
  const call = callUntil(Number.POSITIVE_INFINITY);
  const garbage = Buffer.from('{');
  const key = (name: string, plural = 'validatingadmissionpolicies'): string => `/registry/${plural}/${name}`;

  test.each([
    ['validatingadmissionpolicies', 'admission policy'],
    ['validatingadmissionpolicybindings', 'admission policy'],
    ['mutatingadmissionpolicies', 'admission policy'],
    ['validatingwebhookconfigurations', 'webhook configuration'],
    ['mutatingwebhookconfigurations', 'webhook configuration'],
  ])('of %s blocks writes until it is deleted, except writes of policies', async (plural, what) => {
    server = await openPolicyServer();
    expect(await statusOf('POST', dryRun, account)).toBe(201);
    await server.store.create(key('lost', plural), garbage, {}, call);
    const answer = await until('the object to be unreadable', async () => {
      const found = await server.request('POST', dryRun, account);
      return found.status === 201 ? undefined : found;
    });
    expect([answer.status, answer.body.message]).toEqual([
      503,
      `no writes are admitted while a stored ${what} cannot be read; make it readable or delete it: ${plural}/lost`,
    ]);
    const end = await server.enforce('validating', { validations: [{ expression: 'true' }] });
    await end();
    const unsafely = 'ignoreStoreReadErrorWithClusterBreakingPotential=true';
    expect(await statusOf('DELETE', `${registration}/${plural}/lost?${unsafely}`)).toBe(200);
    expect(await statusOf('POST', dryRun, account)).toBe(201);
  });

  test.each([
    ['Fail', '422 failed to configure binding: a parameter cannot be read: serviceaccounts/default/lost'],
    ['Ignore', '201 '],
  ])('that may be a parameter is handled by the failure policy: %s', async (failurePolicy, expected) => {
    server = await openPolicyServer({ authorizer: { authorize: () => ({ verdict: 'allow' }) } });
    await server.request('POST', accounts, { metadata: { name: 'read', labels: { role: 'param' } } });
    await server.enforce(
      'validating',
      {
        paramKind: { apiVersion: 'v1', kind: 'ServiceAccount' },
        validations: [{ expression: 'params.metadata.name == "read"' }],
        failurePolicy,
      },
      { paramRef: { selector: { matchLabels: { role: 'param' } }, parameterNotFoundAction: 'Deny' } },
    );
    expect(await statusOf('POST', dryRun, account)).toBe(201);
    await server.store.create(key('default/lost', 'serviceaccounts'), garbage, {}, call);
    await until('it cannot be read', async () => (await statusOf('GET', `${accounts}/lost`)) === 500 || undefined);
    const { status, body } = await server.request('POST', dryRun, account);
    expect(`${status} ${(body.message ?? '').replace(/^.*denied request: /s, '')}`).toBe(expected);
    expect(server.internalErrors.splice(0)).not.toEqual([]); // of the reads
  });

  test('that was a policy stays active as last read', async () => {
    server = await openPolicyServer();
    await server.enforce('validating', { validations: [{ expression: 'false' }] });
    expect(await statusOf('POST', dryRun, account)).toBe(422);
    const { stored } = await server.store.get(key('p0001'), call);
    await server.store.update(key('p0001'), garbage, stored?.revision ?? revisionOf(0), {}, call);
    const path = `${registration}/validatingadmissionpolicies/p0001`;
    await until('the policy cannot be read', async () => (await statusOf('GET', path)) === 500 || undefined);
    expect(await statusOf('POST', dryRun, account)).toBe(422);
    expect(server.internalErrors.splice(0)).not.toEqual([]); // of the reads
  });

  test.each(webhookPlurals)('of %s stays active as last read', async (plural) => {
    server = await openPolicyServer(denies);
    const path = `${registration}/${plural}`;
    expect(await statusOf('POST', path, configuration('a'))).toBe(201);
    expect(await statusOf('POST', dryRun, account)).toBe(400);
    const { stored } = await server.store.get(key('a', plural), call);
    await server.store.update(key('a', plural), garbage, stored?.revision ?? revisionOf(0), {}, call);
    await until('it cannot be read', async () => (await statusOf('GET', `${path}/a`)) === 500 || undefined);
    expect(await statusOf('POST', dryRun, account)).toBe(400);
    expect(server.internalErrors.splice(0)).not.toEqual([]); // of the reads
  });
});

describe('an object whose expressions are invalid, as another server may store it,', () => {
  const call = callUntil(Number.POSITIVE_INFINITY);
  const rules = [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['robots'] }];
  const condition = { name: 'valid', expression: '1 < 2' };
  const policy = { matchConstraints: { resourceRules: rules }, matchConditions: [condition] };
  const webhook = {
    ...{ name: 'a.example.com', clientConfig: { url: 'https://example.com' }, sideEffects: 'None' },
    ...{ admissionReviewVersions: ['v1'], rules, matchConditions: [condition] },
  };
  test.each<[string, object]>([
    ['validatingadmissionpolicies', { spec: { ...policy, validations: [{ expression: '1 < 2' }] } }],
    [
      'mutatingadmissionpolicies',
      {
        spec: {
          ...policy,
          reinvocationPolicy: 'Never',
          mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
        },
      },
    ],
    ['validatingwebhookconfigurations', { webhooks: [webhook] }],
    ['mutatingwebhookconfigurations', { webhooks: [webhook] }],
  ])('can lose its finalizers, but not have its rules changed: %s', async (plural, fields) => {
    server = await openPolicyServer();
    const path = `${registration}/${plural}`;
    expect(await statusOf('POST', path, { metadata: { name: 'a', finalizers: ['example.com/hold'] }, ...fields })).toBe(
      201,
    );
    const { stored } = await server.store.get(`/registry/${plural}/a`, call);
    const value = Buffer.from(stored?.value.toString().replace('1 < 2', '1 <') ?? '');
    await server.store.update(`/registry/${plural}/a`, value, stored?.revision ?? revisionOf(0), {}, call);
    const patch = (body: object): Promise<{ status: number }> =>
      server.request('PATCH', `${path}/a`, body, 'application/merge-patch+json');
    expect(await patch({ metadata: { finalizers: [] } })).toMatchObject({ status: 200 });
    const changed = { ...webhook, matchConditions: [{ name: 'valid', expression: '2 <' }] };
    expect(await patch({ spec: { failurePolicy: 'Ignore' }, webhooks: [changed] })).toMatchObject({ status: 422 });
  });
});
