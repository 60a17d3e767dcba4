import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessDecision, AccessAttributes } from '@cluster-apiserver/model';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPolicyServer, type PolicyServer } from './policy-server.ts';

let server: PolicyServer;
let decide: (attributes: AccessAttributes) => AccessDecision | Promise<AccessDecision>;
beforeAll(async () => {
  server = await openPolicyServer({ authorizer: { authorize: (attributes) => decide(attributes) } });
  for (const name of ['a', 'elsewhere'])
    await server.request('POST', '/api/v1/namespaces', { metadata: { name, labels: { team: name } } });
  for (const [namespace, name, labels] of [
    ['a', 'limits', { role: 'params' }],
    ['a', 'more', { role: 'params' }],
    ['elsewhere', 'limits', { role: 'params', of: 'elsewhere' }],
  ] as const)
    await server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name, labels } });
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});
beforeEach(() => {
  decide = () => ({ verdict: 'allow' });
});

let ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  server.takeAnnotations();
});
const enforce = async (spec: object, binding?: object): Promise<void> =>
  void ends.push(await server.enforce('validating', spec, binding));

const create = (metadata: object = { name: 'new' }, query = '?dryRun=All'): Promise<JsonResponse> =>
  server.request('POST', `/api/v1/namespaces/a/serviceaccounts${query}`, { metadata });
/** The response without the name of the policy. */
const summaryOf = ({ status, body }: JsonResponse): string =>
  status < 300 ? 'admitted' : `${status} ${body.reason} ${(body.message ?? '').replace(/^.*?denied request: /s, '')}`;

describe('an expression', () => {
  test.each<[string, string]>([
    ["object.metadata.name == 'new'", 'admitted'],
    ["object.metadata.name != 'new'", "422 Invalid failed expression: object.metadata.name != 'new'"],
    ['oldObject == null && request.operation == "CREATE"', 'admitted'],
    ['request.userInfo.username == "alice" && "system:authenticated" in request.userInfo.groups', 'admitted'],
    ['request.namespace == "a" && request.name == "new" && request.dryRun', 'admitted'],
    ['request.resource.resource == "serviceaccounts" && request.kind.kind == "ServiceAccount"', 'admitted'],
    ['namespaceObject.metadata.labels.team == "a"', 'admitted'],
    ['!has(object.metadata.labels) || object.metadata.labels.all(k, k.size() < 10)', 'admitted'],
    [
      'object.secrets.size() > 0',
      "422 Invalid expression 'object.secrets.size() > 0' resulted in error: no such key: secrets",
    ],
    ['object.metadata.name.matches("^[a-z]+$")', 'admitted'],
    ["authorizer.group('').resource('secrets').namespace('a').check('get').allowed()", 'admitted'],
    ["authorizer.requestResource.check('delete').allowed()", 'admitted'],
  ])('%s: %s', async (expression, expected) => {
    await enforce({ validations: [{ expression }] });
    expect(summaryOf(await create())).toBe(expected);
  });

  test.each(['later', 'refused later'])('waits for an authorizer that responds %s', async (when) => {
    const checks: AccessAttributes[] = [];
    decide = async (attributes) => {
      checks.push(attributes);
      await new Promise((resolve) => setImmediate(resolve));
      return { verdict: when === 'later' ? 'allow' : 'noOpinion' };
    };
    await enforce({
      variables: [{ name: 'mayGet', expression: "authorizer.requestResource.check('get').allowed()" }],
      validations: [{ expression: 'variables.mayGet' }, { expression: 'variables.mayGet || false' }],
    });
    expect(summaryOf(await create())).toBe(
      when === 'later' ? 'admitted' : '422 Invalid failed expression: variables.mayGet',
    );
    expect(checks.filter(({ verb }) => verb === 'get')).toHaveLength(1);
  });

  test('fails while the authorizer is not ready', async () => {
    decide = async () => ({ verdict: 'notReady' });
    await enforce({ validations: [{ expression: "authorizer.requestResource.check('get').allowed()" }] });
    expect((await create()).status).toBeGreaterThanOrEqual(500);
  });

  test('that is too expensive fails, and so do all policies of a request that are too expensive together', async () => {
    const digits = '[0,1,2,3,4,5,6,7,8,9]';
    const endless = `${Array.from({ length: 7 }, (_, i) => `${digits}.all(x${i}, `).join('')}true${')'.repeat(7)}`;
    await enforce({ validations: Array.from({ length: 12 }, () => ({ expression: endless })) });
    expect(summaryOf(await create())).toMatch(/^422 Invalid .*cost/s);
    await enforce({ validations: [{ expression: 'true' }] });
    const { body } = await create();
    expect(body.details?.causes).toHaveLength(1);
  });
});

describe('a denial', () => {
  const denies = { expression: 'false' };
  test.each<[string, object, string]>([
    ['without a message', denies, '422 Invalid failed expression: false'],
    ['with a message', { ...denies, message: ' not here ' }, '422 Invalid not here'],
    ['with a reason', { ...denies, message: 'no', reason: 'Forbidden' }, '403 Forbidden no'],
    [
      'of something too large',
      { ...denies, message: 'no', reason: 'RequestEntityTooLarge' },
      '413 RequestEntityTooLarge no',
    ],
    [
      'with a message expression',
      { ...denies, messageExpression: '"not " + object.metadata.name' },
      '422 Invalid not new',
    ],
    ['whose message fails', { ...denies, message: 'no', messageExpression: 'string(object.a.b)' }, '422 Invalid no'],
    ['whose message is empty', { ...denies, message: 'no', messageExpression: '"  "' }, '422 Invalid no'],
    ['whose message has several lines', { ...denies, message: 'no', messageExpression: '"a\\nb"' }, '422 Invalid no'],
    [
      'whose message is too long',
      { ...denies, message: 'no', messageExpression: 'string(object.metadata.annotations["long"])' },
      '422 Invalid no',
    ],
  ])('%s', async (_, validation, expected) => {
    await enforce({ validations: [validation] });
    expect(summaryOf(await create({ name: 'new', annotations: { long: 'y'.repeat(6_000) } }))).toBe(expected);
  });

  test('names the object, the policy and the binding', async () => {
    await enforce({ validations: [denies] });
    const { body } = await create();
    expect(body).toMatchObject({ reason: 'Invalid', code: 422, details: { name: 'new', kind: 'serviceaccounts' } });
    expect(body.message).toMatch(
      /^serviceaccounts "new" is forbidden: ValidatingAdmissionPolicy '(p\d+)' with binding '\1' denied request: failed expression: false$/,
    );
  });

  test('of the first policy by name is returned, and every policy is evaluated', async () => {
    await enforce({ validations: [{ expression: 'false', message: 'first' }] });
    await enforce({ validations: [{ expression: 'false', message: 'second' }] }, { validationActions: ['Warn'] });
    const answer = await create();
    expect([summaryOf(answer), answer.warnings.length]).toEqual(['422 Invalid first', 1]);
  });
});

describe('the actions of a binding', () => {
  const spec = { validations: [{ expression: 'false', message: 'no' }] };
  test.each<[string[], string, number, number]>([
    [['Deny'], '422 Invalid no', 0, 0],
    [['Warn'], 'admitted', 1, 0],
    [['Audit'], 'admitted', 0, 1],
    [['Deny', 'Audit'], '422 Invalid no', 0, 1],
    [['Warn', 'Audit'], 'admitted', 1, 1],
  ])('%j: %s, with %i warnings and %i annotations', async (validationActions, answer, warnings, annotations) => {
    await enforce(spec, { validationActions });
    const found = await create();
    expect([summaryOf(found), found.warnings.length, server.takeAnnotations().length]).toEqual([
      answer,
      warnings,
      annotations,
    ]);
  });

  test('report what failed', async () => {
    await enforce(
      { validations: [{ expression: 'true' }, { expression: 'false', message: 'no' }] },
      { validationActions: ['Audit', 'Warn'] },
    );
    const { warnings } = await create();
    expect(warnings[0]).toMatch(/Validation failed for ValidatingAdmissionPolicy '(p\d+)' with binding '\1': no"$/);
    const [key, value = ''] = (server.takeAnnotations()[0] ?? '').split('=');
    expect(key).toBe('validation.policy.admission.k8s.io/validation_failure');
    expect(JSON.parse(value)).toMatchObject([
      { message: 'no', expressionIndex: 1, validationActions: ['Audit', 'Warn'] },
    ]);
  });
});

describe('failurePolicy', () => {
  const failing = { validations: [{ expression: 'object.a.b == 1' }] };
  test.each<[string, object, object | undefined, string]>([
    ['an error', failing, undefined, "422 Invalid expression 'object.a.b == 1' resulted in error: no such key: a"],
    ['an error that is ignored', { ...failing, failurePolicy: 'Ignore' }, undefined, 'admitted'],
    [
      'a failed validation, which is not an error',
      { validations: [{ expression: 'false' }], failurePolicy: 'Ignore' },
      undefined,
      '422 Invalid failed expression: false',
    ],
    [
      'an unknown kind of parameters',
      { ...failing, paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' } },
      undefined,
      "422 Invalid failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
    ],
    [
      'an unknown kind of parameters that is ignored',
      { ...failing, paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' }, failurePolicy: 'Ignore' },
      undefined,
      'admitted',
    ],
  ])('%s', async (_, spec, binding, expected) => {
    await enforce(spec, binding);
    expect(summaryOf(await create())).toBe(expected);
  });
});

describe('match conditions', () => {
  const namedConditions = (...expressions: string[]): object[] =>
    expressions.map((expression, index) => ({ name: `c${index}`, expression }));
  test.each<[string, string[], string]>([
    ['all hold', ['true', "object.metadata.name == 'new'"], '422 Invalid failed expression: false'],
    ['one does not hold', ['true', 'false'], 'admitted'],
    ['one fails', ['object.a.b == 1'], "422 Invalid expression 'object.a.b == 1' resulted in error: no such key: a"],
    ['one fails and one does not hold', ['object.a.b == 1', 'false'], 'admitted'],
    [
      'two fail',
      ['object.a == 1', 'object.b == 1'],
      "422 Invalid [expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]",
    ],
    [
      'one asks the authorizer',
      ["authorizer.requestResource.check('get').allowed()"],
      '422 Invalid failed expression: false',
    ],
  ])('%s', async (_, conditions, expected) => {
    await enforce({ matchConditions: namedConditions(...conditions), validations: [{ expression: 'false' }] });
    expect(summaryOf(await create())).toBe(expected);
  });

  test('that are false or fail prevent annotations', async () => {
    const auditAnnotations = [{ key: 'k', valueExpression: '"v"' }];
    for (const condition of ['false', 'object.a.b == 1'])
      await enforce({ matchConditions: namedConditions(condition), failurePolicy: 'Ignore', auditAnnotations });
    expect([summaryOf(await create()), server.takeAnnotations()]).toEqual(['admitted', []]);
  });
});

describe('audit annotations', () => {
  test.each<[string, string, string[], string]>([
    ['a text', '"the " + object.metadata.name', ['the new'], 'admitted'],
    ['null', 'null', [], 'admitted'],
    ['an empty text', '"  "', [], 'admitted'],
    ['a long text', 'string(object.metadata.annotations["long"])', ['y'.repeat(10 * 1024)], 'admitted'],
    ['an error', 'string(object.a)', [], "422 Invalid expression 'string(object.a)' resulted in error: no such key: a"],
  ])('%s', async (_, valueExpression, values, answer) => {
    await enforce({ auditAnnotations: [{ key: 'k', valueExpression }] });
    const found = await create({ name: 'new', annotations: { long: 'y'.repeat(11_000) } });
    expect([summaryOf(found), server.takeAnnotations().map((one) => one.replace(/^p\d+\/k=/, ''))]).toEqual([
      answer,
      values,
    ]);
  });

  test('of several parameters are joined', async () => {
    await enforce(
      {
        paramKind: { apiVersion: 'v1', kind: 'ServiceAccount' },
        auditAnnotations: [{ key: 'k', valueExpression: 'string(params.metadata.name)' }],
      },
      { paramRef: { selector: { matchLabels: { role: 'params' } }, parameterNotFoundAction: 'Deny' } },
    );
    expect(summaryOf(await create())).toBe('admitted');
    expect(server.takeAnnotations().map((one) => one.replace(/^p\d+\/k=/, ''))).toEqual(['limits, more']);
  });
});

describe('parameters', () => {
  const paramKind = { apiVersion: 'v1', kind: 'ServiceAccount' };
  const auditAnnotation = (expression: string): object => ({
    paramKind,
    validations: [{ expression: 'false', messageExpression: expression }],
  });
  const found = 'params == null ? "null" : params.metadata.namespace + "/" + params.metadata.name';
  const noBinding = undefined;
  const ref = (changes: object): object => ({ paramRef: { parameterNotFoundAction: 'Deny', ...changes } });
  test.each<[string, object | undefined, string]>([
    ['without a paramRef are null', noBinding, '422 Invalid null'],
    ['by name are in the namespace of the request', ref({ name: 'limits' }), '422 Invalid a/limits'],
    ['by name and namespace', ref({ name: 'limits', namespace: 'elsewhere' }), '422 Invalid elsewhere/limits'],
    ['by labels: each is evaluated', ref({ selector: { matchLabels: { role: 'params' } } }), '422 Invalid a/limits'],
    [
      'by labels and namespace',
      ref({ selector: { matchLabels: { of: 'elsewhere' } }, namespace: 'elsewhere' }),
      '422 Invalid elsewhere/limits',
    ],
    [
      'that are missing deny',
      ref({ name: 'none' }),
      '422 Invalid failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    ],
    [
      'that no label selects deny',
      ref({ selector: { matchLabels: { role: 'none' } } }),
      '422 Invalid failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    ],
    ['that are missing skip the binding', ref({ name: 'none', parameterNotFoundAction: 'Allow' }), 'admitted'],
  ])('%s', async (_, binding, expected) => {
    await enforce(auditAnnotation(found), binding);
    expect(summaryOf(await create())).toBe(expected);
  });

  test.each<[string, object, object, string]>([
    [
      'in a namespace, for cluster-scoped objects',
      paramKind,
      { name: 'limits' },
      '422 Invalid failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    ],
    [
      'of a cluster-scoped kind, in a namespace',
      { apiVersion: 'v1', kind: 'Namespace' },
      { name: 'a', namespace: 'a' },
      '422 Invalid failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
    ],
    ['of a cluster-scoped kind', { apiVersion: 'v1', kind: 'Namespace' }, { name: 'a' }, '422 Invalid a'],
  ])('%s', async (_, kind, paramRef, expected) => {
    await enforce(
      {
        paramKind: kind,
        matchConstraints: {
          resourceRules: [
            { apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['clusterroles'] },
          ],
        },
        validations: [{ expression: 'false', messageExpression: 'string(params.metadata.name)' }],
      },
      { paramRef: { parameterNotFoundAction: 'Deny', ...paramRef } },
    );
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All';
    expect(summaryOf(await server.request('POST', path, { metadata: { name: 'r' }, rules: [] }))).toBe(expected);
  });
});

describe('deletions', () => {
  test('are validated with the old object, individually and as a collection', async () => {
    const path = '/api/v1/namespaces/elsewhere/serviceaccounts';
    await enforce({
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['serviceaccounts'] },
        ],
      },
      validations: [{ expression: 'object == null && oldObject.metadata.name != "limits"', message: 'kept' }],
    });
    expect(summaryOf(await server.request('DELETE', `${path}/limits`))).toBe('422 Invalid kept');
    expect(summaryOf(await server.request('DELETE', path))).toBe('422 Invalid kept');
  });
});
