/** When the server calls admission webhooks, and what it sends them. */
import { describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { sendRequest } from '../authentication/send-request.ts';
import { metric } from '../authorization/configuration.ts';
import { serveKinds } from '../serve-kinds.ts';
import {
  allow,
  base64,
  deleteWebhookConfigurations,
  registerWebhooks,
  respondWith,
  respondWithLabel,
  respondWithPatch,
  type ReviewHandler,
} from './admission-webhook.ts';
import { accounts, startWebhookSuite, statusOf } from './webhook-suite.ts';

const { caBundle, create, hooks, mutating, nextName, server, validating } = await startWebhookSuite();

describe('An admission webhook receives', () => {
  test('a complete AdmissionReview at its URL, with its timeout and without credentials', async () => {
    await validating(hooks.webhook('see', { timeoutSeconds: 3 }));
    const created = await server.request('POST', `${accounts}?fieldManager=me`, { metadata: { name: 'whole' } });
    expect(created.status).toBe(201);
    const kind = { group: '', version: 'v1', kind: 'ServiceAccount' };
    const resource = { group: '', version: 'v1', resource: 'serviceaccounts' };
    const { managedFields: _, ...metadata } = hooks.calls[0]?.review.request.object?.metadata ?? {};
    expect(hooks.calls).toMatchObject([{ path: '/see?timeout=3s', headers: { 'content-type': 'application/json' } }]);
    expect(hooks.calls[0]?.headers.authorization).toBeUndefined();
    expect(hooks.calls[0]?.review).toEqual({
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

  test('the first AdmissionReview version that both sides support', async () => {
    await validating(
      hooks.webhook('old', { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] }),
      hooks.webhook('new', { admissionReviewVersions: ['v1', 'v1beta1'] }),
    );
    // v1beta1 requires only a response.
    hooks.handlers.set('old', (_, response) => void response.end(JSON.stringify({ response: { allowed: true } })));
    expect((await create()).status).toBe(201);
    const versions = hooks.calls.map(({ path, review }) => [path.slice(0, 4), review.apiVersion]);
    expect(new Map(versions as [string, string][])).toEqual(
      new Map([
        ['/old', 'admission.k8s.io/v1beta1'],
        ['/new', 'admission.k8s.io/v1'],
      ]),
    );
  });

  test('object and oldObject of updates and deletions', async () => {
    const { body } = await create();
    const path = `${accounts}/${body.metadata.name}`;
    await validating(hooks.webhook('see'));
    const label = { metadata: { labels: { a: 'b' } } };
    await server.request('PATCH', path, label, 'application/merge-patch+json');
    await server.request('DELETE', `${path}?dryRun=All`);
    await server.request('DELETE', path);
    expect(hooks.calls.map(({ review: { request } }) => request)).toMatchObject([
      {
        operation: 'UPDATE',
        object: { metadata: { labels: { a: 'b' } } },
        oldObject: { metadata: { name: body.metadata.name } },
        options: { kind: 'PatchOptions' },
      },
      { operation: 'DELETE', dryRun: true, options: { kind: 'DeleteOptions', dryRun: ['All'] } },
      { operation: 'DELETE', object: null, oldObject: { metadata: { labels: { a: 'b' } } }, dryRun: false },
    ]);
    expect(hooks.calls[0]?.review.request.oldObject?.metadata.labels).toBeUndefined();
  });

  test("calls to a service at its configured address, with the service's host name", async () => {
    const clientConfig = { service: { namespace: 'team', name: 'policy', path: '/see' }, caBundle: caBundle };
    await validating(hooks.webhook('see', { clientConfig }));
    expect((await create()).status).toBe(201);
    expect(hooks.calls).toMatchObject([{ path: '/see?timeout=10s', headers: { host: 'policy.team.svc:443' } }]);
  });

  test('calls over a kept connection, and over a new one after the connection was closed', async () => {
    await validating(hooks.webhook('see'));
    expect((await create()).status).toBe(201);
    const before = hooks.server.connections;
    for (let times = 0; times < 3; times++) expect((await create()).status).toBe(201);
    expect(hooks.server.connections).toBe(before);
    hooks.server.closeIdleConnections();
    expect((await create()).status).toBe(201);
    expect(hooks.server.connections).toBe(before + 1);
  });

  test('reviews of namespaces', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: 'Cluster' }];
    await validating(hooks.webhook('see', { rules }));
    await server.request('POST', '/api/v1/namespaces', { metadata: { name: 'place' } });
    expect(hooks.calls).toMatchObject([
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

  test('for equivalent resources of another group, in the version of its rule, and patches that version', async () => {
    await mutating(
      hooks.webhook('see', { rules: eventRules }),
      hooks.webhook('exact', { rules: eventRules, matchPolicy: 'Exact' }),
    );
    hooks.handlers.set('see', respondWithPatch({ op: 'replace', path: '/note', value: 'it walked' }));
    const { status, body } = await server.request('POST', '/api/v1/namespaces/team/events', event);
    expect([status, body['message']]).toEqual([201, 'it walked']);
    expect(hooks.calls).toMatchObject([
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
    await server.request('DELETE', '/api/v1/namespaces/team/events/e');
  });

  test.each<[string, object, boolean]>([
    ['the namespace selector matches', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, true],
    ['the namespace selector does not match', { namespaceSelector: { matchLabels: { tier: 'tin' } } }, false],
    ['the object selector matches', { objectSelector: { matchLabels: { a: 'b' } } }, true],
    ['the object selector does not match', { objectSelector: { matchLabels: { a: 'c' } } }, false],
    [
      'the match condition is true',
      { matchConditions: [{ name: 'c', expression: 'has(object.metadata.labels)' }] },
      true,
    ],
    ['the match condition is false', { matchConditions: [{ name: 'c', expression: 'object == null' }] }, false],
    [
      'the match condition fails and failures are ignored',
      { matchConditions: [{ name: 'c', expression: 'object.x == 1' }], failurePolicy: 'Ignore' },
      false,
    ],
    ['there are no rules', { rules: [] }, false],
  ])('only if it matches: %s: %#', async (_, part, isCalled) => {
    await validating(hooks.webhook('see', part));
    expect((await create({ metadata: { name: nextName(), labels: { a: 'b' } } })).status).toBe(201);
    expect(hooks.calledNames()).toEqual(isCalled ? ['see'] : []);
  });

  test('not if its match condition fails, which rejects the request', async () => {
    const matchConditions = [{ name: 'c', expression: 'object.x == 1' }];
    await validating(hooks.webhook('see', { matchConditions }));
    expect(statusOf(await create({ metadata: { name: 'refused' } }))).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: expect.stringMatching(/^serviceaccounts "refused" is forbidden: expression 'object.x == 1' resulted in/),
    });
    expect(hooks.calls).toEqual([]);
    const labelled = { kind: 'webhook', name: 'see.hooks.example.com', type: 'validating', operation: 'CREATE' };
    const errors = 'apiserver_admission_match_condition_evaluation_errors_total';
    expect(await metric(server, errors, labelled)).toBeGreaterThan(0);
  });

  test('never for webhook configurations and policies', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    await validating(hooks.webhook('see', { rules }));
    hooks.handlers.set('see', respondWith({ allowed: false }));
    await registerWebhooks(server, 'mutatingwebhookconfigurations', 'other', hooks.webhook('other'));
    expect(hooks.calls).toEqual([]);
  });
});

describe('A reinvocation', () => {
  const incrementAnnotation =
    (name: string): ReviewHandler =>
    (review, response) => {
      const before = Number(review.request.object?.metadata.annotations?.[name] ?? 0);
      const annotations = { ...review.request.object?.metadata.annotations, [name]: String(before + 1) };
      respondWithPatch({ op: 'add', path: '/metadata/annotations', value: annotations })(review, response);
    };

  test('follows a later change, once, for webhooks with policy IfNeeded', async () => {
    const again = { reinvocationPolicy: 'IfNeeded' };
    await mutating(hooks.webhook('a', again), hooks.webhook('never'), hooks.webhook('b', again), hooks.webhook('c'));
    for (const name of ['a', 'b', 'c']) hooks.handlers.set(name, incrementAnnotation(name));
    const { body } = await create();
    // Both webhooks change the object on every call; there is only one reinvocation.
    expect(hooks.calledNames()).toEqual(['a', 'never', 'b', 'c', 'a', 'b']);
    expect(body.metadata.annotations).toEqual({ a: '2', b: '2', c: '1' });
  });

  test('does not happen if no later webhook changed the object', async () => {
    const again = { reinvocationPolicy: 'IfNeeded' };
    await mutating(hooks.webhook('a'), hooks.webhook('b', again), hooks.webhook('c', again));
    hooks.handlers.set('a', respondWithLabel('a'));
    hooks.handlers.set(
      'c',
      respondWith({
        allowed: true,
        patchType: 'JSONPatch',
        patch: base64('[{"op":"test","path":"/kind","value":"ServiceAccount"}]'),
      }),
    );
    expect((await create()).status).toBe(201);
    expect(hooks.calledNames()).toEqual(['a', 'b', 'c']);
  });

  test('includes webhooks of other configurations, in the order of their names', async () => {
    await registerWebhooks(server, 'mutatingwebhookconfigurations', 'z', hooks.webhook('z'));
    await registerWebhooks(
      server,
      'mutatingwebhookconfigurations',
      'a',
      hooks.webhook('a', { reinvocationPolicy: 'IfNeeded' }),
    );
    hooks.handlers.set('z', respondWithLabel('z'));
    expect((await create()).status).toBe(201);
    expect(hooks.calledNames()).toEqual(['a', 'z', 'a']);
  });

  test('shows a MutatingAdmissionPolicy the changes of webhooks', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
    const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] };
    const expression =
      'has(object.metadata.labels) ? [JSONPatch{op: "add", path: "/metadata/labels/policy", value: "seen"}] : []';
    await server.request('POST', path, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
        reinvocationPolicy: 'IfNeeded',
      },
    });
    const bindings = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings';
    const bound = await server.request('POST', bindings, { metadata: { name: 'p' }, spec: { policyName: 'p' } });
    expect(bound.status).toBe(201);
    for (const list of [path, bindings]) await server.request('GET', list);
    await mutating(hooks.webhook('a'), hooks.webhook('b', { reinvocationPolicy: 'IfNeeded' }));
    hooks.handlers.set('a', respondWithLabel('a'));
    const { body } = await create();
    expect(body.metadata.labels).toEqual({ a: 'yes', policy: 'seen' });
    // The policy changed the object after the first call of b.
    expect(hooks.calledNames()).toEqual(['a', 'b', 'b']);
    for (const list of [path, bindings]) await server.request('DELETE', list);
    for (const list of [path, bindings]) await server.request('GET', list);
  });
});

test.each([
  ['policy=10.0.0.7', '"policy" is not namespace/name'],
  ['team/policy=https://10.0.0.7', '"https://10.0.0.7" is not host or host:port'],
  ['team/policy=10.0.0.7:http', '"10.0.0.7:http" is not host or host:port'],
])('The server does not start with the services %s', async (services, fault) => {
  await expect(
    serveKinds(kinds, { etcd: server.etcd, flags: [`--admission-webhook-services=${services}`] }),
  ).rejects.toMatchObject({ message: expect.stringContaining(`--admission-webhook-services: ${fault}`) });
});

test('A changed webhook configuration applies immediately, and a deleted one stops applying', async () => {
  await validating(hooks.webhook('see'));
  hooks.handlers.set('see', respondWith({ allowed: false }));
  expect((await create()).status).toBe(400);
  await deleteWebhookConfigurations(server);
  expect((await create()).status).toBe(201);
});

test('Concurrent requests each get the response of their own review', async () => {
  await mutating(hooks.webhook('first'));
  hooks.handlers.set('first', (review, response) =>
    respondWithLabel('name', review.request.object?.metadata.name)(review, response),
  );
  const created = await Promise.all(Array.from({ length: 50 }, () => create()));
  for (const { body } of created) expect(body.metadata.labels).toEqual({ name: body.metadata.name });
});

test('Metrics count calls by webhook', async () => {
  hooks.handlers.set('see', allow);
  await validating(hooks.webhook('see'));
  await create();
  const { text } = await sendRequest(server, server.token, { path: '/metrics' });
  expect(text).toContain('apiserver_admission_webhook_request_total{name="see.hooks.example.com",type="validating"');
});
