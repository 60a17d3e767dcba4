/**
 * The admission tests of the Kubernetes conformance suite, step by step, with the objects that this server stores:
 * service accounts instead of pods, config maps and deployments. Each test has the name of its conformance test.
 *
 * Covered elsewhere: type checks of policies (policies/replicas.etcd.test.ts) and default timeouts (package kinds).
 * Omitted, because the server does not support them: attaching to pods, custom resources and their definitions.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import {
  type AdmissionWebhooks,
  deleteWebhookConfigurations,
  respondWithLabel,
  registerWebhooks,
  respondWith,
  startAdmissionWebhooks,
} from './admission-webhook.ts';

let server: TestServer;
let hooks: AdmissionWebhooks;
beforeAll(async () => {
  [server, hooks] = await Promise.all([serveKinds(kinds, { errorsExpected: true }), startAdmissionWebhooks()]);
});
afterAll(async () => {
  await server.close();
  await hooks.server.stop();
});

const group = 'admissionregistration.k8s.io';
const registration = `/apis/${group}/v1`;
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const merge = 'application/merge-patch+json';
let run = 0;
const uniqueName = (): string => `name-${++run}`;
const create = (name = uniqueName()): Promise<JsonResponse> => server.request('POST', accounts, { metadata: { name } });

const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] }];
/** Selects no namespace, so that policies and webhooks that are only stored do not affect requests. */
const nowhere = { matchLabels: { no: 'where' } };
const matchConstraints = { resourceRules: rules, namespaceSelector: nowhere };
const label = (key: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression: `Object{metadata: Object.metadata{annotations: {"${key}": "yes"}}}` },
});
const stored = {
  name: 'stored.example.com',
  clientConfig: { url: 'https://example.com/' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  namespaceSelector: nowhere,
  rules,
};

/** For each kind: the body besides metadata, and the changes of a patch and of an update. */
const resources: readonly [plural: string, body: object, patched: object, updated: object][] = [
  [
    'validatingadmissionpolicies',
    { spec: { matchConstraints, validations: [{ expression: 'true' }] } },
    { spec: { failurePolicy: 'Ignore' } },
    { spec: { failurePolicy: 'Fail' } },
  ],
  [
    'validatingadmissionpolicybindings',
    { spec: { policyName: 'absent', validationActions: ['Deny'] } },
    { spec: { policyName: 'absent', validationActions: ['Warn'] } },
    { spec: { policyName: 'absent', validationActions: ['Audit'] } },
  ],
  [
    'mutatingadmissionpolicies',
    { spec: { matchConstraints, mutations: [label('a')], reinvocationPolicy: 'Never' } },
    { spec: { failurePolicy: 'Ignore' } },
    { spec: { failurePolicy: 'Fail' } },
  ],
  [
    'mutatingadmissionpolicybindings',
    { spec: { policyName: 'absent' } },
    { spec: { matchResources: { namespaceSelector: nowhere } } },
    { spec: { matchResources: { matchPolicy: 'Exact' } } },
  ],
  [
    'validatingwebhookconfigurations',
    { webhooks: [stored] },
    { webhooks: [{ ...stored, failurePolicy: 'Ignore' }] },
    { webhooks: [{ ...stored, failurePolicy: 'Fail' }] },
  ],
  [
    'mutatingwebhookconfigurations',
    { webhooks: [stored] },
    { webhooks: [{ ...stored, failurePolicy: 'Ignore' }] },
    { webhooks: [{ ...stored, failurePolicy: 'Fail' }] },
  ],
];

describe('should support API operations', () => {
  test.each(resources)('of %s', async (plural, body, patched, updated) => {
    const path = `${registration}/${plural}`;
    const { groups } = (await server.request('GET', '/apis')).body as unknown as { groups: { name: string }[] };
    expect(groups.map(({ name }) => name)).toContain(group);
    expect((await server.request('GET', `/apis/${group}`)).body).toMatchObject({ versions: [{ version: 'v1' }] });
    const { resources: served } = (await server.request('GET', registration)).body as unknown as {
      resources: { name: string }[];
    };
    expect(served.map(({ name }) => name)).toContain(plural);

    const metadata = { generateName: 'e2e-', labels: { of: plural } };
    const selected = `${path}?labelSelector=${encodeURIComponent(`of=${plural}`)}`;
    let created = (await server.request('POST', path, { metadata, ...body })).body;
    for (let more = 0; more < 2; more++) created = (await server.request('POST', path, { metadata, ...body })).body;
    const object = `${path}/${created.metadata.name}`;
    expect((await server.request('GET', object)).body.metadata.uid).toBe(created.metadata.uid);
    const list = (await server.request('GET', selected)).body;
    expect(list.items).toHaveLength(3);
    const from = `&watch=true&timeoutSeconds=60&resourceVersion=${list.metadata.resourceVersion}`;
    const watch = await server.open('GET', `${selected}${from}`);

    const withAnnotation = (name: string): object => ({ metadata: { annotations: { [name]: 'true' } } });
    expect(
      (await server.request('PATCH', object, { ...withAnnotation('patched'), ...patched }, merge)).body,
    ).toMatchObject({
      ...withAnnotation('patched'),
      ...patched,
    });
    const replacement = { ...(await server.request('GET', object)).body, ...mergeSpecs(updated, body) };
    replacement.metadata = { ...replacement.metadata, annotations: { patched: 'true', updated: 'true' } };
    expect((await retryConflicts(() => server.request('PUT', object, replacement))).body).toMatchObject({
      ...withAnnotation('updated'),
      ...updated,
    });
    expect(await firstEvent(watch, ({ metadata: { annotations } }) => annotations?.['patched'] === 'true')).toBe(
      'MODIFIED',
    );
    watch.destroy();

    expect((await server.request('DELETE', object)).status).toBe(200);
    expect((await server.request('GET', object)).status).toBe(404);
    expect((await server.request('GET', selected)).body.items).toHaveLength(2);
    expect((await server.request('DELETE', selected)).status).toBe(200);
    expect((await server.request('GET', selected)).body.items).toEqual([]);

    /** Retries conflicts, as clients do: another controller may write at the same time. */
    async function retryConflicts(update: () => Promise<JsonResponse>): Promise<JsonResponse> {
      const answer = await update();
      if (answer.status !== 409) return answer;
      const { resourceVersion } = (await server.request('GET', object)).body.metadata;
      replacement.metadata = { ...replacement.metadata, ...(resourceVersion && { resourceVersion }) };
      return retryConflicts(update);
    }
  });

  test('of the status of a policy', async () => {
    const path = `${registration}/validatingadmissionpolicies`;
    const name = uniqueName();
    const spec = { matchConstraints, validations: [{ expression: 'true' }] };
    expect((await server.request('POST', path, { metadata: { name }, spec })).status).toBe(201);
    const status = { conditions: [condition('Patched')] };
    const patched = await server.request('PATCH', `${path}/${name}/status`, { status }, merge);
    expect(patched.body).toMatchObject({ status });
    for (;;) {
      const { body } = await server.request('GET', `${path}/${name}/status`);
      const next = { ...body, status: { conditions: [condition('Updated')] } };
      const answer = await server.request('PUT', `${path}/${name}/status`, next);
      // The type-checking controller may have written in between, as in a cluster.
      if (answer.status === 409) continue;
      expect(answer.body).toMatchObject({ status: next.status });
      break;
    }
    await server.request('DELETE', `${path}/${name}`);
  });
});

const condition = (type: string): object => ({
  type,
  status: 'True',
  reason: 'E2E',
  message: 'Set by a client',
  lastTransitionTime: '2026-01-02T03:04:05Z',
});

/** Merges the specs; the change takes precedence. */
const mergeSpecs = (change: object, body: object): object => {
  const { spec: changed, ...rest } = change as { spec?: object };
  const { spec, ...others } = body as { spec?: object };
  return { ...others, ...rest, ...(spec && { spec: { ...spec, ...changed } }) };
};

interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
}

async function firstEvent(
  watch: AsyncIterable<Buffer>,
  matches: (object: WatchEvent['object']) => boolean,
): Promise<string | undefined> {
  let text = '';
  for await (const piece of watch) {
    text += piece.toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as WatchEvent;
      if (matches(object)) return type;
    }
  }
  return undefined;
}

describe('AdmissionWebhook', () => {
  afterEach(async () => {
    await deleteWebhookConfigurations(server);
    hooks.handlers.clear();
    hooks.calls.length = 0;
  });
  const validating = 'validatingwebhookconfigurations';
  const mutating = 'mutatingwebhookconfigurations';
  const denies = respondWith({ allowed: false, status: { message: 'this object has unwanted data' } });

  test('should be able to deny pod and configmap creation', async () => {
    hooks.handlers.set('deny', denies);
    await registerWebhooks(server, validating, uniqueName(), hooks.webhook('deny', { rules }));
    const name = uniqueName();
    const refused = await create(name);
    expect([refused.status, refused.body['message']]).toEqual([
      400,
      'admission webhook "deny.hooks.example.com" denied the request: this object has unwanted data',
    ]);
    expect((await server.request('GET', `${accounts}/${name}`)).status).toBe(404);
    const exempt = [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['default'] }];
    await deleteWebhookConfigurations(server);
    await registerWebhooks(
      server,
      validating,
      uniqueName(),
      hooks.webhook('deny', { rules, namespaceSelector: { matchExpressions: exempt } }),
    );
    expect((await create(name)).status).toBe(201);
  });

  test('should be able to deny the update by a PUT and by a PATCH', async () => {
    const name = uniqueName();
    const { body } = await create(name);
    hooks.handlers.set('deny', denies);
    await registerWebhooks(
      server,
      validating,
      uniqueName(),
      hooks.webhook('deny', { rules: [{ ...rules[0], operations: ['UPDATE'] }] }),
    );
    expect((await server.request('PUT', `${accounts}/${name}`, body)).status).toBe(400);
    const change = { metadata: { labels: { a: 'b' } } };
    expect((await server.request('PATCH', `${accounts}/${name}`, change, merge)).status).toBe(400);
    expect((await server.request('DELETE', `${accounts}/${name}`)).status).toBe(200);
  });

  test('should unconditionally reject operations on fail closed webhook', async () => {
    const clientConfig = { url: 'https://127.0.0.1:1/' };
    await registerWebhooks(
      server,
      validating,
      uniqueName(),
      hooks.webhook('dead', { rules, clientConfig, failurePolicy: 'Fail' }),
    );
    const refused = await create();
    expect([refused.status, refused.body['message']]).toEqual([
      500,
      expect.stringContaining('failed calling webhook "dead.hooks.example.com": failed to call webhook: Post'),
    ]);
  });

  test.each(['should mutate configmap', 'should mutate pod and apply defaults after mutation'])('%s', async () => {
    hooks.handlers.set('one', respondWithLabel('mutation-stage-1'));
    hooks.handlers.set('two', (review, response) => {
      expect(review.request.object?.metadata.labels).toEqual({ 'mutation-stage-1': 'yes' });
      respondWithLabel('mutation-stage-2')(review, response);
    });
    await registerWebhooks(
      server,
      mutating,
      uniqueName(),
      hooks.webhook('one', { rules }),
      hooks.webhook('two', { rules }),
    );
    expect((await create()).body.metadata.labels).toEqual({ 'mutation-stage-2': 'yes' });
  });

  test('should not be able to mutate or prevent deletion of webhook configuration objects', async () => {
    hooks.handlers.set('deny', denies);
    hooks.handlers.set('mutate', respondWithLabel('mutated'));
    const all = [{ apiGroups: [group], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
    await registerWebhooks(server, validating, uniqueName(), hooks.webhook('deny', { rules: all }));
    await registerWebhooks(server, mutating, uniqueName(), hooks.webhook('mutate', { rules: all }));
    for (const plural of [validating, mutating] as const) {
      const name = uniqueName();
      const { status, body } = await server.request('POST', `${registration}/${plural}`, {
        metadata: { name },
        webhooks: [stored],
      });
      expect([status, body.metadata.labels]).toEqual([201, undefined]);
      expect((await server.request('DELETE', `${registration}/${plural}/${name}`)).status).toBe(200);
    }
  });

  test.each<[string, { readonly timeoutSeconds?: number; readonly failurePolicy?: string }, number]>([
    ['shorter than the latency', { timeoutSeconds: 1, failurePolicy: 'Fail' }, 500],
    ['shorter than the latency, and ignored', { timeoutSeconds: 1, failurePolicy: 'Ignore' }, 201],
    ['longer than the latency', { timeoutSeconds: 30 }, 201],
    ['10 seconds by default', {}, 201],
  ])('should honor timeout: %s', async (_, webhook, status) => {
    let answer: () => void = () => {};
    // The webhook responds when the request has ended, or at once if the timeout allows it.
    hooks.handlers.set('slow', (review, response) => {
      answer = () => respondWith({ allowed: true })(review, response);
      if (webhook.timeoutSeconds !== 1) answer();
    });
    await registerWebhooks(server, validating, uniqueName(), hooks.webhook('slow', { rules, ...webhook }));
    expect((await create()).status).toBe(status);
    answer();
  });

  test.each([
    ['validating', validating],
    ['mutating', mutating],
  ] as const)('patching/updating a %s webhook should work', async (_, plural) => {
    const name = uniqueName();
    const answer = plural === validating ? denies : respondWithLabel('mutated');
    const isAffected = ({ status, body }: JsonResponse): boolean =>
      status !== 201 || body.metadata.labels !== undefined;
    hooks.handlers.set('hook', answer);
    await registerWebhooks(server, plural, name, hooks.webhook('hook', { rules }));
    expect(isAffected(await create())).toBe(true);
    const path = `${registration}/${plural}/${name}`;
    const { body } = await server.request('GET', path);
    const [webhook] = body['webhooks'] as object[];
    const ofUpdates = [{ ...rules[0], operations: ['UPDATE'] }];
    expect((await server.request('PUT', path, { ...body, webhooks: [{ ...webhook, rules: ofUpdates }] })).status).toBe(
      200,
    );
    expect(isAffected(await create())).toBe(false);
    expect((await server.request('PATCH', path, { webhooks: [{ ...webhook, rules }] }, merge)).status).toBe(200);
    expect(isAffected(await create())).toBe(true);
  });

  test.each([
    ['validating', validating],
    ['mutating', mutating],
  ] as const)('listing %s webhooks should work', async (_, plural) => {
    hooks.handlers.set('hook', plural === validating ? denies : respondWithLabel('mutated'));
    const metadata = (name: string): object => ({ name, labels: { e2e: 'list' } });
    for (let count = 0; count < 3; count++)
      await server.request('POST', `${registration}/${plural}`, {
        metadata: metadata(uniqueName()),
        webhooks: [hooks.webhook('hook', { rules })],
      });
    const selected = `${registration}/${plural}?labelSelector=e2e%3Dlist`;
    expect((await server.request('GET', selected)).body.items).toHaveLength(3);
    const before = await create();
    expect(before.status === 400 || before.body.metadata.labels?.['mutated'] === 'yes').toBe(true);
    expect((await server.request('DELETE', selected)).status).toBe(200);
    const after = await create();
    expect([after.status, after.body.metadata.labels]).toEqual([201, undefined]);
  });

  test.each([
    ['validating', validating],
    ['mutating', mutating],
  ] as const)(
    'should be able to create and update %s webhook configurations with match conditions',
    async (_, plural) => {
      const name = uniqueName();
      const first = [{ name: 'expression-1', expression: "object.metadata.namespace == 'production'" }];
      await registerWebhooks(server, plural, name, { ...stored, matchConditions: first });
      const path = `${registration}/${plural}/${name}`;
      const { body } = await server.request('GET', path);
      expect(body['webhooks']).toMatchObject([{ matchConditions: first }]);
      const second = [...first, { name: 'expression-2', expression: "object.metadata.namespace == 'staging'" }];
      const updated = await server.request('PUT', path, {
        ...body,
        webhooks: [{ ...stored, matchConditions: second }],
      });
      expect(updated.body['webhooks']).toMatchObject([{ matchConditions: second }]);
    },
  );

  test.each([
    ['validating', validating],
    ['mutating', mutating],
  ] as const)('should reject %s webhook configurations with invalid match conditions', async (_, plural) => {
    const matchConditions = [{ name: 'invalid', expression: '...bad expression' }];
    const { status, body } = await server.request('POST', `${registration}/${plural}`, {
      metadata: { name: uniqueName() },
      webhooks: [{ ...stored, matchConditions }],
    });
    expect([status, body['message']]).toEqual([422, expect.stringContaining('compilation failed')]);
  });

  test("should mutate everything except 'skip-me' configmaps", async () => {
    hooks.handlers.set('hook', respondWithLabel('mutated'));
    const matchConditions = [{ name: 'skip-me', expression: "object.metadata.name != 'skip-me'" }];
    await registerWebhooks(server, mutating, uniqueName(), hooks.webhook('hook', { rules, matchConditions }));
    expect((await create()).body.metadata.labels).toEqual({ mutated: 'yes' });
    expect((await create('skip-me')).body.metadata.labels).toBeUndefined();
  });
});

describe('ValidatingAdmissionPolicy and MutatingAdmissionPolicy', () => {
  /** Activates a policy for namespaces with a label, and creates such a namespace. */
  async function enforce(type: 'validating' | 'mutating', spec: object): Promise<string> {
    const name = uniqueName();
    const namespaceSelector = { matchLabels: { [name]: 'true' } };
    await server.request('POST', '/api/v1/namespaces', { metadata: { name, labels: { [name]: 'true' } } });
    const policy = { matchConstraints: { resourceRules: rules, namespaceSelector }, ...spec };
    const actions = type === 'validating' && { validationActions: ['Deny'] };
    const binding = { policyName: name, matchResources: { namespaceSelector }, ...actions };
    const policyStored = await server.request('POST', `${registration}/${type}admissionpolicies`, {
      metadata: { name },
      spec: policy,
    });
    const bindingStored = await server.request('POST', `${registration}/${type}admissionpolicybindings`, {
      metadata: { name },
      spec: binding,
    });
    expect([policyStored.status, bindingStored.status]).toEqual([201, 201]);
    return name;
  }
  const createIn = (namespace: string, body: object = {}): Promise<JsonResponse> =>
    server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      metadata: { name: uniqueName() },
      ...body,
    });
  const secrets = (count: number): object => ({
    secrets: Array.from({ length: count }, (_, index) => ({ name: `s${index}` })),
  });

  test('should validate against a Deployment', async () => {
    const namespace = await enforce('validating', {
      validations: [
        {
          expression: 'object.secrets.size() > 1',
          messageExpression: "'wants secrets > 1, got ' + string(object.secrets.size())",
        },
      ],
    });
    const refused = await createIn(namespace, secrets(1));
    expect([refused.status, refused.body['message']]).toEqual([
      422,
      expect.stringContaining('denied request: wants secrets > 1, got 1'),
    ]);
    expect((await createIn(namespace, secrets(2))).status).toBe(201);
    expect((await createIn('default', secrets(1))).status).toBe(201);
  });

  test('should allow expressions to refer variables.', async () => {
    const namespace = await enforce('validating', {
      variables: [
        { name: 'count', expression: 'object.secrets.size()' },
        { name: 'isOdd', expression: 'variables.count % 2 == 1' },
      ],
      validations: [{ expression: 'variables.count > 1' }, { expression: 'variables.isOdd', message: 'must be odd' }],
    });
    expect((await createIn(namespace, secrets(1))).body['message']).toContain('failed expression: variables.count > 1');
    expect((await createIn(namespace, secrets(2))).body['message']).toContain('must be odd');
    expect((await createIn(namespace, secrets(3))).status).toBe(201);
  });

  test('should mutate a Deployment', async () => {
    const namespace = await enforce('mutating', { mutations: [label('mutated-by')], reinvocationPolicy: 'Never' });
    expect((await createIn(namespace)).body.metadata.annotations).toEqual({ 'mutated-by': 'yes' });
    expect((await createIn('default')).body.metadata.annotations).toBeUndefined();
  });
});
