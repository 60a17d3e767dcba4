/** Admission webhooks behind real TLS, called by the server as it is assembled. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { kinds } from '@cluster-apiserver/kinds';
import { metric } from '../authorization/configuration.ts';
import { ask } from '../authentication/caller.ts';
import { type Answer as Told, type ServedKinds, serveKinds } from '../serve-kinds.ts';
import {
  type AdmissionWebhooks,
  allows,
  type Answer,
  base64,
  deleteConfigurations,
  labels,
  patches,
  register,
  says,
  startAdmissionWebhooks,
} from './admission-webhook.ts';

let hooks: AdmissionWebhooks;
let server: ServedKinds;
const authority = { content: '' };
beforeAll(async () => {
  hooks = await startAdmissionWebhooks(['policy.team.svc']);
  const address = new URL(hooks.server.origin).host;
  server = await serveKinds(kinds, {
    flags: [`--admission-webhook-services=team/policy=${address}`],
    errorsExpected: true,
  });
  authority.content = base64(hooks.server.authority);
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'team', labels: { tier: 'gold' } } });
});
afterAll(async () => {
  await server.close();
  await hooks.server.leave();
});
beforeEach(() => {
  hooks.asked.length = 0;
  hooks.answers.clear();
});
afterEach(() => deleteConfigurations(server));

const validating = (...webhooks: object[]) => register(server, 'validatingwebhookconfigurations', 'v', ...webhooks);
const mutating = (...webhooks: object[]) => register(server, 'mutatingwebhookconfigurations', 'm', ...webhooks);

const accounts = '/api/v1/namespaces/team/serviceaccounts';
let made = 0;
const nameOfNext = (): string => `robot-${++made}`;
const create = (object: object = {}, query = ''): Promise<Told> =>
  server.ask('POST', `${accounts}${query}`, { metadata: { name: nameOfNext() }, ...object });
const statusOf = ({ body }: Told): object => ({ ...body, kind: undefined, apiVersion: undefined, metadata: undefined });

describe('What is sent', () => {
  test('is a whole AdmissionReview, to the URL with its timeout and without credentials', async () => {
    await validating(hooks.webhook('see', { timeoutSeconds: 3 }));
    const created = await server.ask('POST', `${accounts}?fieldManager=me`, { metadata: { name: 'whole' } });
    expect(created.status).toBe(201);
    const kind = { group: '', version: 'v1', kind: 'ServiceAccount' };
    const resource = { group: '', version: 'v1', resource: 'serviceaccounts' };
    const { managedFields: _, ...metadata } = hooks.asked[0]?.review.request.object?.metadata ?? {};
    expect(hooks.asked).toMatchObject([{ path: '/see?timeout=3s', headers: { 'content-type': 'application/json' } }]);
    expect(hooks.asked[0]?.headers.authorization).toBeUndefined();
    expect(hooks.asked[0]?.review).toEqual({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind,
        resource,
        requestKind: kind,
        requestResource: resource,
        name: 'whole',
        namespace: 'team',
        operation: 'CREATE',
        userInfo: { username: 'admin', uid: '1', groups: ['system:masters', 'system:authenticated'] },
        object: expect.objectContaining({ kind: 'ServiceAccount', apiVersion: 'v1' }),
        oldObject: null,
        dryRun: false,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me' },
      },
    });
    expect(metadata).toMatchObject({ name: 'whole', namespace: 'team', uid: created.body.metadata.uid });
  });

  test('is of the first version that both sides know', async () => {
    await validating(
      hooks.webhook('old', { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] }),
      hooks.webhook('new', { admissionReviewVersions: ['v1', 'v1beta1'] }),
    );
    // The old version never required anything but a response.
    hooks.answers.set('old', (_, response) => void response.end(JSON.stringify({ response: { allowed: true } })));
    expect((await create()).status).toBe(201);
    const versions = hooks.asked.map(({ path, review }) => [path.slice(0, 4), review.apiVersion]);
    expect(new Map(versions as [string, string][])).toEqual(
      new Map([
        ['/old', 'admission.k8s.io/v1beta1'],
        ['/new', 'admission.k8s.io/v1'],
      ]),
    );
  });

  test('tells updates and deletions by both objects', async () => {
    const { body } = await create();
    const path = `${accounts}/${body.metadata.name}`;
    await validating(hooks.webhook('see'));
    const label = { metadata: { labels: { a: 'b' } } };
    await server.ask('PATCH', path, label, 'application/merge-patch+json');
    await server.ask('DELETE', `${path}?dryRun=All`);
    await server.ask('DELETE', path);
    expect(hooks.asked.map(({ review: { request } }) => request)).toMatchObject([
      {
        operation: 'UPDATE',
        object: { metadata: { labels: { a: 'b' } } },
        oldObject: { metadata: { name: body.metadata.name } },
        options: { kind: 'PatchOptions' },
      },
      { operation: 'DELETE', dryRun: true, options: { kind: 'DeleteOptions', dryRun: ['All'] } },
      { operation: 'DELETE', object: null, oldObject: { metadata: { labels: { a: 'b' } } }, dryRun: false },
    ]);
    expect(hooks.asked[0]?.review.request.oldObject?.metadata.labels).toBeUndefined();
  });

  test('goes to a service at its configured address, under its own name', async () => {
    const clientConfig = { service: { namespace: 'team', name: 'policy', path: '/see' }, caBundle: authority.content };
    await validating(hooks.webhook('see', { clientConfig }));
    expect((await create()).status).toBe(201);
    expect(hooks.asked).toMatchObject([{ path: '/see?timeout=10s', headers: { host: 'policy.team.svc:443' } }]);
  });

  test('goes over the same connection again, and over a new one when that was closed', async () => {
    await validating(hooks.webhook('see'));
    expect((await create()).status).toBe(201);
    const before = hooks.server.connections;
    for (let times = 0; times < 3; times++) expect((await create()).status).toBe(201);
    expect(hooks.server.connections).toBe(before);
    hooks.server.closeIdleConnections();
    expect((await create()).status).toBe(201);
    expect(hooks.server.connections).toBe(before + 1);
  });

  test('includes TokenRequests and namespaces', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: 'Cluster' }];
    await validating(hooks.webhook('see', { rules }));
    await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'place' } });
    expect(hooks.asked).toMatchObject([
      { review: { request: { kind: { kind: 'Namespace' }, name: 'place', namespace: 'place' } } },
    ]);
  });
});

describe('A webhook is called', () => {
  const event = {
    metadata: { name: 'e' },
    involvedObject: { namespace: 'team' },
    reason: 'Ran',
    message: 'it ran',
    type: 'Normal',
  };
  const eventRules = [{ operations: ['*'], apiGroups: ['events.k8s.io'], apiVersions: ['v1'], resources: ['events'] }];

  test('about the same objects of another group, in the form of its rule, and its patch is of that form', async () => {
    await mutating(
      hooks.webhook('see', { rules: eventRules }),
      hooks.webhook('exact', { rules: eventRules, matchPolicy: 'Exact' }),
    );
    hooks.answers.set('see', patches({ op: 'replace', path: '/note', value: 'it walked' }));
    const { status, body } = await server.ask('POST', '/api/v1/namespaces/team/events', event);
    expect([status, body['message']]).toEqual([201, 'it walked']);
    expect(hooks.asked).toMatchObject([
      {
        path: '/see?timeout=10s',
        review: {
          request: {
            kind: { group: 'events.k8s.io', version: 'v1', kind: 'Event' },
            resource: { group: 'events.k8s.io', version: 'v1', resource: 'events' },
            requestKind: { group: '', version: 'v1', kind: 'Event' },
            requestResource: { group: '', version: 'v1', resource: 'events' },
            object: { apiVersion: 'events.k8s.io/v1', note: 'it ran', regarding: { namespace: 'team' } },
          },
        },
      },
    ]);
    await server.ask('DELETE', '/api/v1/namespaces/team/events/e');
  });

  test.each<[string, object, boolean]>([
    ['whose namespace selector matches', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, true],
    ['whose namespace selector does not match', { namespaceSelector: { matchLabels: { tier: 'tin' } } }, false],
    ['whose object selector matches', { objectSelector: { matchLabels: { a: 'b' } } }, true],
    ['whose object selector does not match', { objectSelector: { matchLabels: { a: 'c' } } }, false],
    ['whose condition holds', { matchConditions: [{ name: 'c', expression: 'has(object.metadata.labels)' }] }, true],
    ['whose condition does not hold', { matchConditions: [{ name: 'c', expression: 'object == null' }] }, false],
    [
      'whose condition has no value but ignores failures',
      { matchConditions: [{ name: 'c', expression: 'object.x == 1' }], failurePolicy: 'Ignore' },
      false,
    ],
    ['without rules', { rules: [] }, false],
  ])('if it is one %s: %#', async (_, part, isCalled) => {
    await validating(hooks.webhook('see', part));
    expect((await create({ metadata: { name: nameOfNext(), labels: { a: 'b' } } })).status).toBe(201);
    expect(hooks.pathsAsked()).toEqual(isCalled ? ['see'] : []);
  });

  test('not at all if its condition has no value, because the request is refused', async () => {
    const matchConditions = [{ name: 'c', expression: 'object.x == 1' }];
    await validating(hooks.webhook('see', { matchConditions }));
    expect(statusOf(await create({ metadata: { name: 'refused' } }))).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: expect.stringMatching(/^serviceaccounts "refused" is forbidden: expression 'object.x == 1' resulted in/),
    });
    expect(hooks.asked).toEqual([]);
    const labelled = { kind: 'webhook', name: 'see.hooks.example.com', type: 'validating', operation: 'CREATE' };
    const errors = 'apiserver_admission_match_condition_evaluation_errors_total';
    expect(await metric(server, errors, labelled)).toBeGreaterThan(0);
  });

  test('never about webhooks and policies', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    await validating(hooks.webhook('see', { rules }));
    hooks.answers.set('see', says({ allowed: false }));
    await register(server, 'mutatingwebhookconfigurations', 'other', hooks.webhook('other'));
    expect(hooks.asked).toEqual([]);
  });
});

describe('A denial', () => {
  const denied = 'admission webhook "no.hooks.example.com" denied the request';
  test.each<[string, object, object]>([
    ['without explanation', { allowed: false }, { code: 400, message: `${denied} without explanation` }],
    [
      'with all that explains it',
      {
        status: {
          code: 418,
          reason: 'TeaTime',
          message: 'no coffee',
          details: { name: 'pot', causes: [{ message: 'short', field: 'spout' }], retryAfterSeconds: 7 },
        },
      },
      {
        code: 418,
        reason: 'TeaTime',
        message: `${denied}: no coffee`,
        details: { name: 'pot', causes: [{ message: 'short', field: 'spout' }], retryAfterSeconds: 7 },
      },
    ],
    ['with a reason only', { status: { reason: 'Forbidden' } }, { code: 400, message: `${denied}: Forbidden` }],
    ['that claims success', { status: { code: 200, message: 'fine' } }, { code: 400, message: `${denied}: fine` }],
    ['with a code that HTTP does not have', { status: { code: 1234 } }, { code: 599 }],
  ])('%s is the answer', async (_, response, expected) => {
    await validating(hooks.webhook('no'));
    hooks.answers.set('no', says(response));
    const told = await create();
    expect(told.body).toMatchObject({ kind: 'Status', status: 'Failure', ...expected });
    expect(told.status).toBe((expected as { code: number }).code);
  });

  test('has no reason if the webhook gives none', async () => {
    await validating(hooks.webhook('no'));
    hooks.answers.set('no', says({ allowed: false }));
    expect((await create()).body).not.toHaveProperty('reason');
  });

  test('by one of several webhooks is the answer when all have answered, and counted', async () => {
    const labelled = { name: 'no.hooks.example.com', type: 'validating', operation: 'CREATE' };
    const rejections = 'apiserver_admission_webhook_rejection_count';
    const counted = { ...labelled, error_type: 'no_error', rejection_code: '403' };
    const before = await metric(server, rejections, counted);
    await validating(hooks.webhook('yes'), hooks.webhook('no'), hooks.webhook('never'));
    hooks.answers.set('no', says({ allowed: false, status: { code: 403, message: 'no' } }));
    hooks.answers.set('never', says({ allowed: false, status: { code: 409, message: 'never' } }));
    expect(statusOf(await create())).toMatchObject({ code: 403, message: `${denied}: no` });
    expect(hooks.pathsAsked().toSorted()).toEqual(['never', 'no', 'yes']);
    expect(await metric(server, rejections, counted)).toBe(before + 1);
    const asked = { ...labelled, code: '403', rejected: 'true' };
    expect(await metric(server, 'apiserver_admission_webhook_request_total', asked)).toBeGreaterThan(0);
    expect(
      await metric(server, 'apiserver_admission_webhook_admission_duration_seconds_count', labelled),
    ).toBeGreaterThan(0);
  });

  test('by a mutating webhook ends the request before others are called, in deletions too', async () => {
    const { body } = await create();
    await mutating(hooks.webhook('no'), hooks.webhook('later'));
    hooks.answers.set('no', says({ allowed: false }));
    expect((await create()).status).toBe(400);
    expect((await server.ask('DELETE', `${accounts}/${body.metadata.name}`)).status).toBe(400);
    expect(hooks.pathsAsked()).toEqual(['no', 'no']);
    expect((await server.ask('GET', `${accounts}/${body.metadata.name}`)).status).toBe(200);
  });

  test('of an object of a collection keeps that object', async () => {
    await server.ask('POST', '/api/v1/namespaces/crowd/serviceaccounts', {
      metadata: { name: 'kept', labels: { k: 'y' } },
    });
    await server.ask('POST', '/api/v1/namespaces/crowd/serviceaccounts', { metadata: { name: 'gone' } });
    await validating(hooks.webhook('no', { objectSelector: { matchLabels: { k: 'y' } } }));
    hooks.answers.set('no', says({ allowed: false }));
    expect((await server.ask('DELETE', '/api/v1/namespaces/crowd/serviceaccounts')).status).toBe(400);
    expect((await server.ask('GET', '/api/v1/namespaces/crowd/serviceaccounts/kept')).status).toBe(200);
  });
});

test('A webhook with side effects refuses dry runs, and nothing else', async () => {
  // Validation of today refuses it, but an older server may have stored it.
  const kind = 'ValidatingWebhookConfiguration';
  const webhooks = [hooks.webhook('effects', { sideEffects: 'Unknown' })];
  const metadata = { name: 'old', uid: 'u', creationTimestamp: '2020-01-01T00:00:00Z' };
  const stored = { kind, apiVersion: 'admissionregistration.k8s.io/v1', metadata, webhooks };
  server.etcd.control('put', '/registry/validatingwebhookconfigurations/old', JSON.stringify(stored));
  await server.ask('GET', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations');
  expect(statusOf(await create({}, '?dryRun=All'))).toMatchObject({
    code: 400,
    reason: 'BadRequest',
    message: 'admission webhook "effects.hooks.example.com" does not support dry run',
  });
  expect(hooks.asked).toEqual([]);
  expect((await create()).status).toBe(201);
  expect(hooks.pathsAsked()).toEqual(['effects']);
});

test('Warnings reach the client, of those who deny as well', async () => {
  await validating(hooks.webhook('no'));
  hooks.answers.set('no', says({ allowed: false, warnings: ['mind the gap', '', 'mind "the" gap'] }));
  const { warnings } = await create();
  expect(warnings).toEqual(['299 - "mind the gap"', '299 - "mind \\"the\\" gap"']);
});

test('More warnings than a response can carry are cut', async () => {
  await validating(hooks.webhook('talk'));
  hooks.answers.set(
    'talk',
    says({ allowed: true, warnings: Array.from({ length: 1000 }, (_, at) => `${at} ${'x'.repeat(1000)}`) }),
  );
  const { status, warnings } = await create();
  expect(status).toBe(201);
  expect(warnings.join('').length).toBeLessThan(8 * 1024);
  expect(warnings.length).toBeGreaterThan(4);
});

const raw =
  (status: number, body = ''): Answer =>
  (_, response) =>
    void response.writeHead(status).end(body);
const review =
  (part: (uid: string) => object): Answer =>
  ({ request: { uid } }, response) =>
    void response.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', ...part(uid) }));
const drip: Answer = (_, response) => {
  response.writeHead(200).write('{');
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};

const failures: readonly [string, Answer, RegExp, string][] = [
  ['refuses us', raw(403), /failed to call webhook: the server answered with the status 403$/, '403'],
  ['fails', raw(500), /the status 500$/, '500'],
  [
    'is somewhere else',
    (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end(),
    /the status 302$/,
    '503',
  ],
  ['breaks off', (_, response: ServerResponse) => void response.destroy(), /: Post "https:.*cannot be reached/, '503'],
  ['hangs', () => {}, /Post "https:\/\/127\.0\.0\.1:\d+\/bad\?timeout=1s": context deadline exceeded$/, '503'],
  ['drips', drip, /context deadline exceeded$/, '503'],
  ['answers no JSON', raw(200, '<html>'), /the response is not JSON$/, '503'],
  ['answers nothing', raw(200), /the response is not JSON$/, '503'],
  ['answers too much', raw(200, ' '.repeat(6 * 1024 * 1024)), /the answer is larger than/, '503'],
  ['answers too many values', raw(200, `[${'0,'.repeat(100_000)}0]`), /too many values$/, '503'],
  ['answers a list', raw(200, '[]'), /received invalid webhook response: the body is not an object$/, '503'],
  ['answers without a response', review(() => ({})), /webhook response was absent$/, '503'],
  [
    'answers with another uid',
    review(() => ({ response: { uid: 'x', allowed: true } })),
    /expected response\.uid="[0-9a-f-]+", got "x"$/,
    '503',
  ],
  [
    'answers with another kind',
    review((uid) => ({ kind: 'Other', response: { uid, allowed: true } })),
    /Kind="Other"$/,
    '503',
  ],
  [
    'answers with another version',
    review((uid) => ({ apiVersion: 'admission.k8s.io/v1beta1', response: { uid, allowed: true } })),
    /got "admission.k8s.io\/v1beta1"/,
    '503',
  ],
  ['answers with a word', review((uid) => ({ response: { uid, allowed: 'yes' } })), /allowed is not a boolean$/, '503'],
  [
    'answers with warnings that are none',
    review((uid) => ({ response: { uid, allowed: true, warnings: [1] } })),
    /warnings is not a string$/,
    '503',
  ],
];

describe('A webhook that gives no valid answer', () => {
  test.each(failures)('because it %s fails the request, or is ignored', async (_, answer, message, code) => {
    hooks.answers.set('bad', answer);
    for (const type of ['validating', 'mutating'] as const) {
      const timed = { timeoutSeconds: 1 };
      const labelled = { name: 'bad.hooks.example.com', type: type === 'mutating' ? 'admit' : type };
      const rejections = 'apiserver_admission_webhook_rejection_count';
      const rejected = { ...labelled, error_type: 'calling_webhook_error', rejection_code: code };
      const failOpen = 'apiserver_admission_webhook_fail_open_count';
      const before = [await metric(server, rejections, rejected), await metric(server, failOpen, labelled)] as const;
      const use = type === 'mutating' ? mutating : validating;
      await use(hooks.webhook('bad', timed));
      const { body, status } = await create();
      expect(status).toBe(500);
      expect(body).toMatchObject({ reason: 'InternalError', message: expect.stringMatching(message) });
      expect(body['message']).toMatch(/^Internal error occurred: failed calling webhook "bad\.hooks\.example\.com": /);
      await deleteConfigurations(server);
      await use(hooks.webhook('bad', { ...timed, failurePolicy: 'Ignore' }));
      expect((await create()).status).toBe(201);
      await deleteConfigurations(server);
      expect([await metric(server, rejections, rejected), await metric(server, failOpen, labelled)]).toEqual([
        before[0] + 1,
        before[1] + 1,
      ]);
    }
  });

  test('because nobody is there is called again when it is back', async () => {
    await validating(hooks.webhook('see'));
    expect((await create()).status).toBe(201);
    await hooks.server.leave();
    try {
      const { status, body } = await create();
      expect([status, body['message']]).toEqual([
        500,
        expect.stringMatching(/cannot be reached: connect ECONNREFUSED/),
      ]);
    } finally {
      await hooks.server.comeBack();
    }
    expect((await create()).status).toBe(201);
  });

  test('because its certificate is not trusted gets nothing', async () => {
    const other = { url: `${hooks.server.origin}/see` };
    await validating(hooks.webhook('see', { clientConfig: other }));
    const { status, body } = await create();
    expect([status, body['message']]).toEqual([
      500,
      expect.stringMatching(/Post "https.*: the server cannot be reached: /),
    ]);
    expect(hooks.asked).toEqual([]);
  });

  test.each([
    ['is no PEM', 'nonsense'],
    ['holds a broken certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('because its CA bundle %s gets nothing', async (_, bundle) => {
    const clientConfig = { url: `${hooks.server.origin}/see`, caBundle: base64(bundle) };
    await validating(hooks.webhook('see', { clientConfig }));
    for (let times = 0; times < 2; times++)
      expect((await create()).body).toMatchObject({ code: 500, message: expect.stringMatching(/cannot be reached/) });
    expect(hooks.asked).toEqual([]);
  });

  test('because its service has no address is told so', async () => {
    const clientConfig = { service: { namespace: 'team', name: 'other' }, caBundle: authority.content };
    await validating(hooks.webhook('see', { clientConfig }));
    expect((await create()).body).toMatchObject({
      code: 500,
      message: expect.stringMatching(/failed to call webhook: no address is known for the service team\/other: /),
    });
    await deleteConfigurations(server);
    await validating(hooks.webhook('see', { clientConfig, failurePolicy: 'Ignore' }));
    expect((await create()).status).toBe(201);
  });

  test('until the request has to end is no reason to wait longer', async () => {
    hooks.answers.set('bad', () => {});
    await validating(hooks.webhook('bad', { timeoutSeconds: 30, failurePolicy: 'Ignore' }));
    expect(statusOf(await create({}, '?timeout=1s'))).toMatchObject({ code: 504, reason: 'Timeout' });
  });

  test('is logged with its name, once and without a stack', async () => {
    await validating(hooks.webhook('down', { clientConfig: { url: 'https://127.0.0.1:1/down' } }));
    const before = server.logged.length;
    expect(statusOf(await create())).toMatchObject({ code: 500 });
    const lines = server.logged.slice(before).filter((line) => !line.startsWith('I'));
    expect(lines).toEqual([expect.stringMatching(/^W.*admission webhook failed.*down\.hooks\.example\.com/)]);
    expect(lines[0]).not.toContain('stack');
  });
});

describe('A patch', () => {
  const label = (name: string): object[] => [{ op: 'add', path: '/metadata/labels', value: { [name]: 'yes' } }];

  test('changes what is written, and what later webhooks get', async () => {
    await mutating(hooks.webhook('first'), hooks.webhook('second'));
    await validating(hooks.webhook('see'));
    hooks.answers.set('first', labels('first'));
    hooks.answers.set('second', patches({ op: 'add', path: '/metadata/labels/second', value: 'yes' }));
    const { body, status } = await create();
    expect([status, body.metadata.labels]).toEqual([201, { first: 'yes', second: 'yes' }]);
    expect(hooks.asked.map(({ review: { request } }) => request.object?.metadata.labels)).toEqual([
      undefined,
      { first: 'yes' },
      { first: 'yes', second: 'yes' },
    ]);
  });

  test('of an update and of a dry run, too', async () => {
    const { body } = await create();
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', labels('first'));
    const path = `${accounts}/${body.metadata.name}`;
    const dry = await server.ask('PUT', `${path}?dryRun=All`, { metadata: { name: body.metadata.name } });
    expect(dry.body.metadata.labels).toEqual({ first: 'yes' });
    expect((await server.ask('GET', path)).body.metadata.labels).toBeUndefined();
    const patched = await server.ask('PATCH', path, { secrets: [] }, 'application/merge-patch+json');
    expect(patched.body.metadata.labels).toEqual({ first: 'yes' });
  });

  test.each<[string, object, number, RegExp]>([
    [
      'that cannot be applied',
      { op: 'remove', path: '/metadata/nothing/x' },
      500,
      /^Internal error occurred: JSON Patch: /,
    ],
    ['that is no operation', { op: 'explode', path: '/x' }, 500, /JSON Patch: /],
    [
      'that sets a wrong type',
      { op: 'add', path: '/metadata/labels', value: 'x' },
      500,
      /patched object is invalid: metadata\.labels/,
    ],
    [
      'that makes another kind of it',
      { op: 'replace', path: '/kind', value: 'Secret' },
      500,
      /kind and apiVersion must stay ServiceAccount of v1/,
    ],
    [
      'that breaks a rule of the kind',
      { op: 'add', path: '/metadata/labels', value: { '-': 'x' } },
      422,
      /metadata\.labels/,
    ],
    [
      'that moves it to another namespace',
      { op: 'replace', path: '/metadata/namespace', value: 'else' },
      400,
      /namespace/,
    ],
  ])('%s is refused, and nothing is written', async (_, operation, code, message) => {
    await mutating(hooks.webhook('first', { failurePolicy: 'Ignore' }));
    hooks.answers.set('first', patches(operation));
    const name = nameOfNext();
    const told = await create({ metadata: { name } });
    expect([told.status, told.body['message']]).toEqual([code, expect.stringMatching(message)]);
    expect((await server.ask('GET', `${accounts}/${name}`)).status).toBe(404);
  });

  test.each<[string, object, RegExp]>([
    ['without its type', { patch: base64('[]') }, /returned response\.patch but not response\.patchType$/],
    ['without its bytes', { patchType: 'JSONPatch' }, /returned response\.patchType but not response\.patch$/],
    ['of no type', { patchType: '', patch: base64('[]') }, /invalid response\.patchType of ""$/],
    ['of an unknown type', { patchType: 'XML', patch: base64('[]') }, /unsupported patch type "XML"$/],
    ['that is not base64', { patchType: 'JSONPatch', patch: '[]' }, /patch is not base64$/],
    ['that is not JSON', { patchType: 'JSONPatch', patch: base64('[') }, /received undecodable patch/],
    ['that is not a list', { patchType: 'JSONPatch', patch: base64('{}') }, /received undecodable patch/],
  ])('%s is a failed call', async (_, response, message) => {
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', says({ allowed: true, ...response }));
    expect(statusOf(await create())).toMatchObject({ code: 500, message: expect.stringMatching(message) });
  });

  test('by a validating webhook is a failed call, and ignored in the old version', async () => {
    const answer = says({ allowed: true, patchType: 'JSONPatch', patch: base64('[{"op":"remove","path":"/kind"}]') });
    hooks.answers.set('see', answer);
    await validating(hooks.webhook('see'));
    expect((await create()).body).toMatchObject({ message: expect.stringMatching(/may not return response\.patch$/) });
    await deleteConfigurations(server);
    await validating(hooks.webhook('see', { admissionReviewVersions: ['v1beta1'] }));
    expect((await create()).status).toBe(201);
  });

  test('of an apply that creates is bound to its namespace, too', async () => {
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', patches({ op: 'replace', path: '/metadata/namespace', value: 'else' }));
    const name = nameOfNext();
    const applied = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    const path = `${accounts}/${name}?fieldManager=me`;
    expect((await server.ask('PATCH', path, applied, 'application/apply-patch+yaml')).status).toBe(400);
    hooks.answers.set('first', labels('first'));
    const { status, body } = await server.ask('PATCH', path, applied, 'application/apply-patch+yaml');
    expect([status, body.metadata.labels]).toEqual([201, { first: 'yes' }]);
  });

  test('may rename a new object only where the path does not name it', async () => {
    await mutating(hooks.webhook('first'));
    const [given, other] = [nameOfNext(), nameOfNext()];
    hooks.answers.set('first', patches({ op: 'replace', path: '/metadata/name', value: other }));
    const applied = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: given } };
    const apply = await server.ask(
      'PATCH',
      `${accounts}/${given}?fieldManager=me`,
      applied,
      'application/apply-patch+yaml',
    );
    expect(apply.status).toBe(400);
    expect((await create({ metadata: { name: given } })).body.metadata.name).toBe(other);
    hooks.answers.set('first', patches({ op: 'replace', path: '/metadata/name', value: given }));
    const change = { metadata: { labels: { a: 'b' } } };
    const changed = await server.ask('PATCH', `${accounts}/${other}`, change, 'application/merge-patch+json');
    expect(changed.status).toBe(422);
    expect((await server.ask('GET', `${accounts}/${given}`)).status).toBe(404);
  });

  test.each(['uid', 'creationTimestamp'])('cannot take away the %s of an object, nor change it', async (field) => {
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', patches({ op: 'remove', path: `/metadata/${field}` }, ...label('created')));
    const created = await create();
    expect([created.status, created.body.metadata]).toEqual([
      201,
      expect.objectContaining({
        uid: expect.any(String),
        creationTimestamp: expect.any(String),
        labels: { created: 'yes' },
      }),
    ]);
    const { name = '', ...before } = created.body.metadata;
    const other = { uid: 'other', creationTimestamp: '2020-01-01T00:00:00Z' }[field];
    hooks.answers.set(
      'first',
      patches({ op: 'replace', path: `/metadata/${field}`, value: other }, ...label('changed')),
    );
    const path = `${accounts}/${name}`;
    await server.ask('PATCH', path, { metadata: { annotations: { a: 'b' } } }, 'application/merge-patch+json');
    const { body } = await server.ask('GET', path);
    expect(body.metadata).toMatchObject({
      uid: before.uid,
      creationTimestamp: before.creationTimestamp,
      labels: { changed: 'yes' },
    });
  });

  test('of a write to one path leaves the fields of others alone', async () => {
    const rules = [
      { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces', 'namespaces/status'] },
    ];
    await mutating(hooks.webhook('first', { rules }));
    hooks.answers.set('first', patches({ op: 'add', path: '/status', value: { phase: 'Terminating' } }));
    const created = await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'parts' } });
    expect([created.status, created.body['status']]).toEqual([201, { phase: 'Active' }]);
    hooks.answers.set('first', patches({ op: 'replace', path: '/spec/finalizers', value: [] }));
    const change = { metadata: { labels: { a: 'b' } } };
    for (const path of ['', '/status']) {
      const target = `/api/v1/namespaces/parts${path}`;
      const { status, body } = await server.ask('PATCH', target, change, 'application/merge-patch+json');
      expect([status, body['spec']]).toEqual([200, { finalizers: ['kubernetes'] }]);
    }
  });

  test('that breaks managedFields leaves them as they were, with a warning', async () => {
    const broken = [
      { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { x: 1 } },
    ];
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', patches({ op: 'add', path: '/metadata/managedFields', value: broken }));
    const metadata = { name: nameOfNext(), labels: { a: 'b' } };
    const created = await create({ metadata });
    expect([created.status, created.warnings]).toEqual([
      201,
      [expect.stringContaining('managedFields was in an invalid')],
    ]);
    expect(created.body.metadata.managedFields).toMatchObject([{ fieldsV1: { 'f:metadata': { 'f:labels': {} } } }]);
    const path = `${accounts}/${metadata.name}`;
    const label = { metadata: { labels: { a: 'c' } } };
    const changed = await server.ask('PATCH', path, label, 'application/merge-patch+json');
    expect([changed.status, changed.warnings.length]).toEqual([200, 1]);
  });

  test('of a deletion is refused, and an empty one is none', async () => {
    const { body } = await create();
    const path = `${accounts}/${body.metadata.name}`;
    await mutating(hooks.webhook('first'));
    hooks.answers.set('first', labels('first'));
    expect((await server.ask('DELETE', path)).body).toMatchObject({
      code: 500,
      message: expect.stringMatching(/attempted to modify the object, which is not supported for this operation$/),
    });
    hooks.answers.set('first', patches());
    expect((await server.ask('DELETE', path)).status).toBe(200);
  });
});

describe('A second call', () => {
  const counts =
    (name: string): Answer =>
    (asked, response) => {
      const before = Number(asked.request.object?.metadata.annotations?.[name] ?? 0);
      const annotations = { ...asked.request.object?.metadata.annotations, [name]: String(before + 1) };
      patches({ op: 'add', path: '/metadata/annotations', value: annotations })(asked, response);
    };

  test('follows a later change, once, for those that ask for it', async () => {
    const again = { reinvocationPolicy: 'IfNeeded' };
    await mutating(hooks.webhook('a', again), hooks.webhook('never'), hooks.webhook('b', again), hooks.webhook('c'));
    for (const name of ['a', 'b', 'c']) hooks.answers.set(name, counts(name));
    const { body } = await create();
    // Both change the object each time, which would never end.
    expect(hooks.pathsAsked()).toEqual(['a', 'never', 'b', 'c', 'a', 'b']);
    expect(body.metadata.annotations).toEqual({ a: '2', b: '2', c: '1' });
  });

  test('does not follow when nothing has changed after the first', async () => {
    const again = { reinvocationPolicy: 'IfNeeded' };
    await mutating(hooks.webhook('a'), hooks.webhook('b', again), hooks.webhook('c', again));
    hooks.answers.set('a', labels('a'));
    hooks.answers.set(
      'c',
      says({
        allowed: true,
        patchType: 'JSONPatch',
        patch: base64('[{"op":"test","path":"/kind","value":"ServiceAccount"}]'),
      }),
    );
    expect((await create()).status).toBe(201);
    expect(hooks.pathsAsked()).toEqual(['a', 'b', 'c']);
  });

  test('comes to webhooks of other configurations, in the order of their names', async () => {
    await register(server, 'mutatingwebhookconfigurations', 'z', hooks.webhook('z'));
    await register(
      server,
      'mutatingwebhookconfigurations',
      'a',
      hooks.webhook('a', { reinvocationPolicy: 'IfNeeded' }),
    );
    hooks.answers.set('z', labels('z'));
    expect((await create()).status).toBe(201);
    expect(hooks.pathsAsked()).toEqual(['a', 'z', 'a']);
  });

  test('shows a MutatingAdmissionPolicy what a webhook has made of the object', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
    const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] };
    const expression =
      'has(object.metadata.labels) ? [JSONPatch{op: "add", path: "/metadata/labels/policy", value: "seen"}] : []';
    await server.ask('POST', path, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
        reinvocationPolicy: 'IfNeeded',
      },
    });
    const bindings = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings';
    const bound = await server.ask('POST', bindings, { metadata: { name: 'p' }, spec: { policyName: 'p' } });
    expect(bound.status).toBe(201);
    for (const list of [path, bindings]) await server.ask('GET', list);
    await mutating(hooks.webhook('a'), hooks.webhook('b', { reinvocationPolicy: 'IfNeeded' }));
    hooks.answers.set('a', labels('a'));
    const { body } = await create();
    expect(body.metadata.labels).toEqual({ a: 'yes', policy: 'seen' });
    // The policy changed the object after the first call of b.
    expect(hooks.pathsAsked()).toEqual(['a', 'b', 'b']);
    for (const list of [path, bindings]) await server.ask('DELETE', list);
    for (const list of [path, bindings]) await server.ask('GET', list);
  });
});

test.each([
  ['policy=10.0.0.7', '"policy" is not namespace/name'],
  ['team/policy=https://10.0.0.7', '"https://10.0.0.7" is not host or host:port'],
  ['team/policy=10.0.0.7:http', '"10.0.0.7:http" is not host or host:port'],
])('A server is not started with the services %s', async (services, fault) => {
  await expect(
    serveKinds(kinds, { etcd: server.etcd, flags: [`--admission-webhook-services=${services}`] }),
  ).rejects.toMatchObject({ message: expect.stringContaining(`--admission-webhook-services: ${fault}`) });
});

test('A changed configuration is in force at once, and a deleted one is not', async () => {
  await validating(hooks.webhook('see'));
  hooks.answers.set('see', says({ allowed: false }));
  expect((await create()).status).toBe(400);
  await deleteConfigurations(server);
  expect((await create()).status).toBe(201);
});

test('Many requests at once are each answered by their own review', async () => {
  await mutating(hooks.webhook('first'));
  hooks.answers.set('first', (asked, response) => labels('name', asked.request.object?.metadata.name)(asked, response));
  const told = await Promise.all(Array.from({ length: 50 }, () => create()));
  for (const { body } of told) expect(body.metadata.labels).toEqual({ name: body.metadata.name });
});

test('Metrics know the webhooks that were called', async () => {
  hooks.answers.set('see', allows);
  await validating(hooks.webhook('see'));
  await create();
  const { text } = await ask(server, server.token, { path: '/metrics' });
  expect(text).toContain('apiserver_admission_webhook_request_total{name="see.hooks.example.com",type="validating"');
});
