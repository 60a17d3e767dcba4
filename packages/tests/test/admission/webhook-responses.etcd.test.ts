/** How the server handles responses of admission webhooks: denials, warnings, failures and patches. */
import { describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { metric } from '../authorization/configuration.ts';
import {
  base64,
  deleteWebhookConfigurations,
  respondWith,
  respondWithLabel,
  respondWithPatch,
  type ReviewHandler,
} from './admission-webhook.ts';
import { accounts, startWebhookSuite, statusOf } from './webhook-suite.ts';
import { until } from '@cluster-apiserver/testkit/until';
import { brokenAnswers, wrongBodies } from '@cluster-apiserver/testkit/hostile-backend';
import { dripBody, sendBody } from '@cluster-apiserver/testkit/https-server';

const { caBundle, create, hooks, mutating, nextName, server, validating } = await startWebhookSuite();

describe('A denial', () => {
  const denied = 'admission webhook "no.hooks.example.com" denied the request';
  test.each<[string, object, object]>([
    ['without explanation', { allowed: false }, { code: 400, message: `${denied} without explanation` }],
    [
      'with a complete Status',
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
    ['with a success code', { status: { code: 200, message: 'fine' } }, { code: 400, message: `${denied}: fine` }],
    ['with an invalid HTTP status code', { status: { code: 1234 } }, { code: 599 }],
  ])('%s is returned to the client', async (_, response, expected) => {
    await validating(hooks.webhook('no'));
    hooks.handlers.set('no', respondWith(response));
    const created = await create();
    expect(created.body).toMatchObject({ kind: 'Status', status: 'Failure', ...expected });
    expect(created.status).toBe((expected as { code: number }).code);
  });

  test('has no reason if the webhook sent none', async () => {
    await validating(hooks.webhook('no'));
    hooks.handlers.set('no', respondWith({ allowed: false }));
    expect((await create()).body).not.toHaveProperty('reason');
  });

  test('by one of several validating webhooks is returned after all have responded, and counted', async () => {
    const labelled = { name: 'no.hooks.example.com', type: 'validating', operation: 'CREATE' };
    const rejections = 'apiserver_admission_webhook_rejection_count';
    const counted = { ...labelled, error_type: 'no_error', rejection_code: '403' };
    const before = await metric(server, rejections, counted);
    await validating(hooks.webhook('yes'), hooks.webhook('no'), hooks.webhook('never'));
    hooks.handlers.set('no', respondWith({ allowed: false, status: { code: 403, message: 'no' } }));
    hooks.handlers.set('never', respondWith({ allowed: false, status: { code: 409, message: 'never' } }));
    expect(statusOf(await create())).toMatchObject({ code: 403, message: `${denied}: no` });
    expect(hooks.calledNames().toSorted()).toEqual(['never', 'no', 'yes']);
    expect(await metric(server, rejections, counted)).toBe(before + 1);
    const requestLabels = { ...labelled, code: '403', rejected: 'true' };
    expect(await metric(server, 'apiserver_admission_webhook_request_total', requestLabels)).toBeGreaterThan(0);
    expect(
      await metric(server, 'apiserver_admission_webhook_admission_duration_seconds_count', labelled),
    ).toBeGreaterThan(0);
  });

  test('by a mutating webhook ends the request before later webhooks are called, also for deletions', async () => {
    const { body } = await create();
    await mutating(hooks.webhook('no'), hooks.webhook('later'));
    hooks.handlers.set('no', respondWith({ allowed: false }));
    expect((await create()).status).toBe(400);
    expect((await server.request('DELETE', `${accounts}/${body.metadata.name}`)).status).toBe(400);
    expect(hooks.calledNames()).toEqual(['no', 'no']);
    expect((await server.request('GET', `${accounts}/${body.metadata.name}`)).status).toBe(200);
  });

  test('of one deletion of a collection keeps that object', async () => {
    await server.request('POST', '/api/v1/namespaces/crowd/serviceaccounts', {
      metadata: { name: 'kept', labels: { k: 'y' } },
    });
    await server.request('POST', '/api/v1/namespaces/crowd/serviceaccounts', { metadata: { name: 'gone' } });
    await validating(hooks.webhook('no', { objectSelector: { matchLabels: { k: 'y' } } }));
    hooks.handlers.set('no', respondWith({ allowed: false }));
    expect((await server.request('DELETE', '/api/v1/namespaces/crowd/serviceaccounts')).status).toBe(400);
    expect((await server.request('GET', '/api/v1/namespaces/crowd/serviceaccounts/kept')).status).toBe(200);
  });
});

test('A webhook with side effects rejects dry runs only', async () => {
  // Current validation rejects it, but an older server may have stored it.
  const kind = 'ValidatingWebhookConfiguration';
  const webhooks = [hooks.webhook('effects', { sideEffects: 'Unknown' })];
  const metadata = { name: 'old', uid: 'u', creationTimestamp: '2020-01-01T00:00:00Z' };
  const stored = { kind, apiVersion: 'admissionregistration.k8s.io/v1', metadata, webhooks };
  server.etcd.control('put', '/registry/validatingwebhookconfigurations/old', JSON.stringify(stored));
  await server.request('GET', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations');
  expect(statusOf(await create({}, '?dryRun=All'))).toMatchObject({
    code: 400,
    reason: 'BadRequest',
    message: 'admission webhook "effects.hooks.example.com" does not support dry run',
  });
  expect(hooks.calls).toEqual([]);
  expect((await create()).status).toBe(201);
  expect(hooks.calledNames()).toEqual(['effects']);
});

test('Warnings reach the client, also those of denials', async () => {
  await validating(hooks.webhook('no'));
  hooks.handlers.set('no', respondWith({ allowed: false, warnings: ['mind the gap', '', 'mind "the" gap'] }));
  const { warnings } = await create();
  expect(warnings).toEqual(['299 - "mind the gap"', '299 - "mind \\"the\\" gap"']);
});

test('Warnings beyond the size of a response are dropped', async () => {
  await validating(hooks.webhook('talk'));
  hooks.handlers.set(
    'talk',
    respondWith({ allowed: true, warnings: Array.from({ length: 1000 }, (_, at) => `${at} ${'x'.repeat(1000)}`) }),
  );
  const { status, warnings } = await create();
  expect(status).toBe(201);
  expect(warnings.join('').length).toBeLessThan(8 * 1024);
  expect(warnings.length).toBeGreaterThan(4);
});

const review =
  (part: (uid: string) => object): ReviewHandler =>
  ({ request: { uid } }, response) =>
    void response.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', ...part(uid) }));

const failures: readonly [string, ReviewHandler, RegExp, string][] = [
  [
    'responds with 403',
    sendBody(403),
    /failed to call webhook: the server responded with the status code 403 but did not return more information$/,
    '403',
  ],
  ['fails', sendBody(500), /an error on the server \("unknown"\) has prevented the request from succeeding$/, '500'],
  ['refuses', sendBody(422), /the server rejected our request due to an error in our request$/, '422'],
  [
    'redirects',
    (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end(),
    /the status code 302 but did not return more information$/,
    '503',
  ],
  [
    'closes the connection',
    (_, response: ServerResponse) => void response.destroy(),
    /: Post "https:.*cannot be reached/,
    '503',
  ],
  ['hangs', () => {}, /Post "https:\/\/127\.0\.0\.1:\d+\/bad\?timeout=1s": context deadline exceeded$/, '503'],
  ['sends its response too slowly', dripBody, /context deadline exceeded$/, '503'],
  ['does not send JSON', sendBody(200, '<html>'), /the response is not JSON$/, '503'],
  ['sends an empty body', sendBody(200), /the response is not JSON$/, '503'],
  ['sends too many bytes', sendBody(200, ' '.repeat(6 * 1024 * 1024)), /the answer is larger than/, '503'],
  ['sends too many values', sendBody(200, `[${'0,'.repeat(100_000)}0]`), /too many values$/, '503'],
  [
    'sends a list',
    sendBody(200, '[]'),
    /received invalid webhook response: the object: expected an object, got a list$/,
    '503',
  ],
  ['sends a review without a response', review(() => ({})), /webhook response was absent$/, '503'],
  [
    'sends another uid',
    review(() => ({ response: { uid: 'x', allowed: true } })),
    /expected response\.uid="[0-9a-f-]+", got "x"$/,
    '503',
  ],
  [
    'sends another kind',
    review((uid) => ({ kind: 'Other', response: { uid, allowed: true } })),
    /Kind="Other"$/,
    '503',
  ],
  [
    'sends another version',
    review((uid) => ({ apiVersion: 'admission.k8s.io/v1beta1', response: { uid, allowed: true } })),
    /got "admission.k8s.io\/v1beta1"/,
    '503',
  ],
  [
    'sends an allowed that is not a boolean',
    review((uid) => ({ response: { uid, allowed: 'yes' } })),
    /response\.allowed: expected true or false, got a string$/,
    '503',
  ],
  [
    'sends warnings that are not strings',
    review((uid) => ({ response: { uid, allowed: true, warnings: [1] } })),
    /response\.warnings\[0\]: expected a string, got a number$/,
    '503',
  ],
  ...Object.entries({ ...brokenAnswers, ...wrongBodies }).map(([name, hostile]): (typeof failures)[number] => [
    name,
    ({ apiVersion, request: { uid } }, response) =>
      hostile(response, JSON.stringify({ kind: 'AdmissionReview', apiVersion, response: { uid, allowed: true } })),
    /failed calling webhook/,
    '503',
  ]),
];

describe('A call of a webhook that', () => {
  test.each(failures)('%s fails the request, or is ignored', async (_, answer, message, code) => {
    hooks.handlers.set('bad', answer);
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
      await deleteWebhookConfigurations(server);
      await use(hooks.webhook('bad', { ...timed, failurePolicy: 'Ignore' }));
      expect((await create()).status).toBe(201);
      await deleteWebhookConfigurations(server);
      expect([await metric(server, rejections, rejected), await metric(server, failOpen, labelled)]).toEqual([
        before[0] + 1,
        before[1] + 1,
      ]);
    }
  });

  test('is stopped fails, and succeeds after its restart', async () => {
    await validating(hooks.webhook('see'));
    expect((await create()).status).toBe(201);
    await hooks.server.stop();
    try {
      const { status, body } = await create();
      expect([status, body['message']]).toEqual([
        500,
        expect.stringMatching(/cannot be reached: connect ECONNREFUSED/),
      ]);
    } finally {
      await hooks.server.restart();
    }
    expect((await create()).status).toBe(201);
  });

  test('has an untrusted certificate is not sent', async () => {
    const other = { url: `${hooks.server.origin}/see` };
    await validating(hooks.webhook('see', { clientConfig: other }));
    const { status, body } = await create();
    expect([status, body['message']]).toEqual([
      500,
      expect.stringMatching(/Post "https.*: the server cannot be reached: /),
    ]);
    expect(hooks.calls).toEqual([]);
  });

  test.each([
    ['is not PEM', 'nonsense'],
    ['contains an invalid certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('has a CA bundle that %s is not sent', async (_, bundle) => {
    const clientConfig = { url: `${hooks.server.origin}/see`, caBundle: base64(bundle) };
    await validating(hooks.webhook('see', { clientConfig }));
    for (let times = 0; times < 2; times++)
      expect((await create()).body).toMatchObject({ code: 500, message: expect.stringMatching(/cannot be reached/) });
    expect(hooks.calls).toEqual([]);
  });

  test('has no configured service address fails with that message', async () => {
    const clientConfig = { service: { namespace: 'team', name: 'other' }, caBundle: caBundle };
    await validating(hooks.webhook('see', { clientConfig }));
    expect((await create()).body).toMatchObject({
      code: 500,
      message: expect.stringMatching(/failed to call webhook: no address is known for the service team\/other: /),
    });
    await deleteWebhookConfigurations(server);
    await validating(hooks.webhook('see', { clientConfig, failurePolicy: 'Ignore' }));
    expect((await create()).status).toBe(201);
  });

  test("hangs until the request's deadline fails, even if failures are ignored", async () => {
    hooks.handlers.set('bad', () => {});
    await validating(hooks.webhook('bad', { timeoutSeconds: 30, failurePolicy: 'Ignore' }));
    expect(statusOf(await create({}, '?timeout=1s'))).toMatchObject({ code: 504, reason: 'Timeout' });
  });

  test("is logged with the webhook's name, once and without a stack", async () => {
    await validating(hooks.webhook('down', { clientConfig: { url: 'https://127.0.0.1:1/down' } }));
    // The log limits equal messages, of which other tests write many, and says at times how many it left out.
    const lines = await until('a line that the log does not suppress', async () => {
      const before = server.logLines.length;
      expect(statusOf(await create())).toMatchObject({ code: 500 });
      const written = server.logLines.slice(before).filter((line) => line.includes('down.hooks'));
      return written.length > 0 ? written : undefined;
    });
    expect(lines).toEqual([expect.stringMatching(/^W.*admission webhook failed.*down\.hooks\.example\.com/)]);
    expect(lines[0]).not.toContain('stack');
  });
});

describe('A patch', () => {
  const label = (name: string): object[] => [{ op: 'add', path: '/metadata/labels', value: { [name]: 'yes' } }];

  test('changes the stored object and the object that later webhooks receive', async () => {
    await mutating(hooks.webhook('first'), hooks.webhook('second'));
    await validating(hooks.webhook('see'));
    hooks.handlers.set('first', respondWithLabel('first'));
    hooks.handlers.set('second', respondWithPatch({ op: 'add', path: '/metadata/labels/second', value: 'yes' }));
    const { body, status } = await create();
    expect([status, body.metadata.labels]).toEqual([201, { first: 'yes', second: 'yes' }]);
    expect(hooks.calls.map(({ review: { request } }) => request.object?.metadata.labels)).toEqual([
      undefined,
      { first: 'yes' },
      { first: 'yes', second: 'yes' },
    ]);
  });

  test('applies to updates and dry runs', async () => {
    const { body } = await create();
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWithLabel('first'));
    const path = `${accounts}/${body.metadata.name}`;
    const dry = await server.request('PUT', `${path}?dryRun=All`, { metadata: { name: body.metadata.name } });
    expect(dry.body.metadata.labels).toEqual({ first: 'yes' });
    expect((await server.request('GET', path)).body.metadata.labels).toBeUndefined();
    const patched = await server.request('PATCH', path, { secrets: [] }, 'application/merge-patch+json');
    expect(patched.body.metadata.labels).toEqual({ first: 'yes' });
  });

  test.each<[string, object, number, RegExp]>([
    [
      'that cannot be applied',
      { op: 'remove', path: '/metadata/nothing/x' },
      500,
      /^Internal error occurred: JSON Patch: /,
    ],
    ['with an unknown operation', { op: 'explode', path: '/x' }, 500, /JSON Patch: /],
    [
      'that sets a wrong type',
      { op: 'add', path: '/metadata/labels', value: 'x' },
      500,
      /patched object is invalid: metadata\.labels/,
    ],
    [
      'that changes the kind',
      { op: 'replace', path: '/kind', value: 'Secret' },
      500,
      /kind and apiVersion must stay ServiceAccount of v1/,
    ],
    [
      'that makes the object invalid',
      { op: 'add', path: '/metadata/labels', value: { '-': 'x' } },
      422,
      /metadata\.labels/,
    ],
    ['that changes the namespace', { op: 'replace', path: '/metadata/namespace', value: 'else' }, 400, /namespace/],
  ])('%s is rejected, and nothing is written', async (_, operation, code, message) => {
    await mutating(hooks.webhook('first', { failurePolicy: 'Ignore' }));
    hooks.handlers.set('first', respondWithPatch(operation));
    const name = nextName();
    const created = await create({ metadata: { name } });
    expect([created.status, created.body['message']]).toEqual([code, expect.stringMatching(message)]);
    expect((await server.request('GET', `${accounts}/${name}`)).status).toBe(404);
  });

  test.each<[string, object, RegExp]>([
    ['without a type', { patch: base64('[]') }, /returned response\.patch but not response\.patchType$/],
    ['without content', { patchType: 'JSONPatch' }, /returned response\.patchType but not response\.patch$/],
    ['with an empty type', { patchType: '', patch: base64('[]') }, /invalid response\.patchType of ""$/],
    ['with an unknown type', { patchType: 'XML', patch: base64('[]') }, /unsupported patch type "XML"$/],
    [
      'that is not base64',
      { patchType: 'JSONPatch', patch: '[]' },
      /response\.patch: expected bytes in base64, got another string$/,
    ],
    ['that is not JSON', { patchType: 'JSONPatch', patch: base64('[') }, /received undecodable patch/],
    ['that is not a list', { patchType: 'JSONPatch', patch: base64('{}') }, /received undecodable patch/],
  ])('%s is a failed call', async (_, response, message) => {
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWith({ allowed: true, ...response }));
    expect(statusOf(await create())).toMatchObject({ code: 500, message: expect.stringMatching(message) });
  });

  test('by a validating webhook is a failed call, and ignored in v1beta1', async () => {
    const answer = respondWith({
      allowed: true,
      patchType: 'JSONPatch',
      patch: base64('[{"op":"remove","path":"/kind"}]'),
    });
    hooks.handlers.set('see', answer);
    await validating(hooks.webhook('see'));
    expect((await create()).body).toMatchObject({ message: expect.stringMatching(/may not return response\.patch$/) });
    await deleteWebhookConfigurations(server);
    await validating(hooks.webhook('see', { admissionReviewVersions: ['v1beta1'] }));
    expect((await create()).status).toBe(201);
  });

  test('of a creating apply must not change the namespace either', async () => {
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWithPatch({ op: 'replace', path: '/metadata/namespace', value: 'else' }));
    const name = nextName();
    const applied = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    const path = `${accounts}/${name}?fieldManager=me`;
    expect((await server.request('PATCH', path, applied, 'application/apply-patch+yaml')).status).toBe(400);
    hooks.handlers.set('first', respondWithLabel('first'));
    const { status, body } = await server.request('PATCH', path, applied, 'application/apply-patch+yaml');
    expect([status, body.metadata.labels]).toEqual([201, { first: 'yes' }]);
  });

  test('may change the name of a new object only if the path does not contain it', async () => {
    await mutating(hooks.webhook('first'));
    const [given, other] = [nextName(), nextName()];
    hooks.handlers.set('first', respondWithPatch({ op: 'replace', path: '/metadata/name', value: other }));
    const applied = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: given } };
    const apply = await server.request(
      'PATCH',
      `${accounts}/${given}?fieldManager=me`,
      applied,
      'application/apply-patch+yaml',
    );
    expect(apply.status).toBe(400);
    expect((await create({ metadata: { name: given } })).body.metadata.name).toBe(other);
    hooks.handlers.set('first', respondWithPatch({ op: 'replace', path: '/metadata/name', value: given }));
    const change = { metadata: { labels: { a: 'b' } } };
    const changed = await server.request('PATCH', `${accounts}/${other}`, change, 'application/merge-patch+json');
    expect(changed.status).toBe(422);
    expect((await server.request('GET', `${accounts}/${given}`)).status).toBe(404);
  });

  test.each(['uid', 'creationTimestamp'])('can neither remove nor change the %s of an object', async (field) => {
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWithPatch({ op: 'remove', path: `/metadata/${field}` }, ...label('created')));
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
    hooks.handlers.set(
      'first',
      respondWithPatch({ op: 'replace', path: `/metadata/${field}`, value: other }, ...label('changed')),
    );
    const path = `${accounts}/${name}`;
    await server.request('PATCH', path, { metadata: { annotations: { a: 'b' } } }, 'application/merge-patch+json');
    const { body } = await server.request('GET', path);
    expect(body.metadata).toMatchObject({
      uid: before.uid,
      creationTimestamp: before.creationTimestamp,
      labels: { changed: 'yes' },
    });
  });

  test('of a subresource write does not change other fields', async () => {
    const rules = [
      { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces', 'namespaces/status'] },
    ];
    await mutating(hooks.webhook('first', { rules }));
    hooks.handlers.set('first', respondWithPatch({ op: 'add', path: '/status', value: { phase: 'Terminating' } }));
    const created = await server.request('POST', '/api/v1/namespaces', { metadata: { name: 'parts' } });
    expect([created.status, created.body['status']]).toEqual([201, { phase: 'Active' }]);
    hooks.handlers.set('first', respondWithPatch({ op: 'replace', path: '/spec/finalizers', value: [] }));
    const change = { metadata: { labels: { a: 'b' } } };
    for (const path of ['', '/status']) {
      const target = `/api/v1/namespaces/parts${path}`;
      const { status, body } = await server.request('PATCH', target, change, 'application/merge-patch+json');
      expect([status, body['spec']]).toEqual([200, { finalizers: ['kubernetes'] }]);
    }
  });

  test('with invalid managedFields keeps the previous ones, with a warning', async () => {
    const broken = [
      { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { x: 1 } },
    ];
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWithPatch({ op: 'add', path: '/metadata/managedFields', value: broken }));
    const metadata = { name: nextName(), labels: { a: 'b' } };
    const created = await create({ metadata });
    expect([created.status, created.warnings]).toEqual([
      201,
      [expect.stringContaining('managedFields was in an invalid')],
    ]);
    expect(created.body.metadata.managedFields).toMatchObject([{ fieldsV1: { 'f:metadata': { 'f:labels': {} } } }]);
    const path = `${accounts}/${metadata.name}`;
    const label = { metadata: { labels: { a: 'c' } } };
    const changed = await server.request('PATCH', path, label, 'application/merge-patch+json');
    expect([changed.status, changed.warnings.length]).toEqual([200, 1]);
  });

  test('of a deletion is rejected unless it is empty', async () => {
    const { body } = await create();
    const path = `${accounts}/${body.metadata.name}`;
    await mutating(hooks.webhook('first'));
    hooks.handlers.set('first', respondWithLabel('first'));
    expect((await server.request('DELETE', path)).body).toMatchObject({
      code: 500,
      message: expect.stringMatching(/attempted to modify the object, which is not supported for this operation$/),
    });
    hooks.handlers.set('first', respondWithPatch());
    expect((await server.request('DELETE', path)).status).toBe(200);
  });
});
