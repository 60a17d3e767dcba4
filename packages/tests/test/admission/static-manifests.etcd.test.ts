/** Admission policies and webhooks from files, in the assembled server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { metric } from '../authorization/configuration.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { type AdmissionWebhooks, respondWithLabel, respondWith, startAdmissionWebhooks } from './admission-webhook.ts';

let etcd: RealEtcd;
let server: TestServer | undefined;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const apiVersion = 'admissionregistration.k8s.io/v1';
const rules = (resource: string, apiGroup = '') => ({
  resourceRules: [{ apiGroups: [apiGroup], apiVersions: ['*'], operations: ['*'], resources: [resource] }],
});
const validating = (name: string, expression: string, matchConstraints: object, more: object = {}): object => ({
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: { matchConstraints, validations: [{ expression, message: `by ${name}` }], ...more },
});
const mutating = (name: string, label: string): object => ({
  apiVersion,
  kind: 'MutatingAdmissionPolicy',
  metadata: { name },
  spec: {
    matchConstraints: rules('serviceaccounts'),
    reinvocationPolicy: 'Never',
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{metadata: Object.metadata{labels: {${JSON.stringify(label)}: "yes"}}}`,
        },
      },
    ],
  },
});
const binding = (kind: string, policyName: string, spec: object = {}): object => ({
  apiVersion,
  kind: `${kind}Binding`,
  metadata: { name: policyName },
  spec: { policyName, ...(kind.startsWith('V') && { validationActions: ['Deny'] }), ...spec },
});
const withBinding = (policy: object): string => {
  const { kind, metadata } = policy as { kind: string; metadata: { name: string } };
  return [policy, binding(kind, metadata.name)].map((one) => JSON.stringify(one)).join('\n---\n');
};

const serve = async (files: Readonly<Record<string, string>>, errorsExpected = false): Promise<TestServer> => {
  const plugin = (name: string, directory: string, kind = `${name}Configuration`): object => ({
    name,
    configuration: { apiVersion: 'apiserver.config.k8s.io/v1', kind, staticManifestsDir: directory },
  });
  const ofWebhooks = 'WebhookAdmissionConfiguration';
  server = await serveKinds(kinds, {
    etcd,
    errorsExpected,
    flags: ['--admission-control-config-file=admission.yaml'],
    files: {
      'admission.yaml': JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AdmissionConfiguration',
        plugins: [
          plugin('ValidatingAdmissionPolicy', '/etc/validating'),
          plugin('MutatingAdmissionPolicy', '/etc/mutating'),
          plugin('ValidatingAdmissionWebhook', '/etc/validating-webhooks', ofWebhooks),
          plugin('MutatingAdmissionWebhook', '/etc/mutating-webhooks', ofWebhooks),
        ],
      }),
      '/etc/validating/notes.txt': 'not a manifest',
      '/etc/mutating/notes.txt': 'not a manifest',
      '/etc/validating-webhooks/notes.txt': 'not a manifest',
      '/etc/mutating-webhooks/notes.txt': 'not a manifest',
      ...files,
    },
  });
  return server;
};

const namespaces = '/api/v1/namespaces';
const accounts = `${namespaces}/default/serviceaccounts`;
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
let run = 0;
const uniqueName = (): string => `static-${++run}`;
const account = (labels: object = {}): object => ({ metadata: { name: uniqueName(), labels } });

test('policies from files apply from the first request on and are not visible in the API', async () => {
  const { request } = await serve({
    '/etc/validating/a.yaml': withBinding(
      validating(
        'no-secrets.static.k8s.io',
        '!has(object.metadata.labels) || !("secret" in object.metadata.labels)',
        rules('serviceaccounts'),
      ),
    ),
    '/etc/mutating/b.json': withBinding(mutating('marked.static.k8s.io', 'marked')),
  });
  expect(await request('POST', accounts, account({ secret: 'x' }))).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('by no-secrets.static.k8s.io') },
  });
  const { body } = await request('POST', accounts, account({ public: 'x' }));
  expect(body.metadata.labels).toEqual({ public: 'x', marked: 'yes' });
  expect((await request('GET', policies)).body.items).toEqual([]);
  expect(await request('DELETE', `${policies}/no-secrets.static.k8s.io`)).toMatchObject({ status: 404 });
  const other = validating('other.static.k8s.io', 'true', rules('events'));
  expect(await request('POST', policies, other)).toMatchObject({
    status: 422,
    body: {
      message: expect.stringContaining('names ending with ".static.k8s.io" are reserved for static manifest-based'),
      details: { causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] },
    },
  });
});

test('they also apply to API policies, but not to reviews', async () => {
  const { request } = await serve({
    '/etc/validating/a.yaml': withBinding(
      validating('frozen.static.k8s.io', 'false', {
        resourceRules: [
          {
            apiGroups: ['admissionregistration.k8s.io', 'authorization.k8s.io'],
            apiVersions: ['*'],
            operations: ['*'],
            resources: ['*'],
          },
        ],
      }),
    ),
  });
  expect(await request('POST', policies, validating(uniqueName(), 'true', rules('events')))).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('by frozen.static.k8s.io') },
  });
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
  expect(await request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)).toMatchObject({
    status: 201,
  });
});

test('they are evaluated before API policies, and both apply', async () => {
  const { request } = await serve({
    '/etc/validating/a.yaml': withBinding(
      validating('z.static.k8s.io', '!("file" in object.metadata.labels)', rules('serviceaccounts')),
    ),
  });
  const name = uniqueName();
  const ofApi = validating(name, '!("api" in object.metadata.labels)', rules('serviceaccounts'));
  await request('POST', policies, ofApi);
  await request('POST', policies.replace('policies', 'policybindings'), binding('ValidatingAdmissionPolicy', name));
  const refusalOf = async (labels: object): Promise<string> =>
    String((await request('POST', accounts, account(labels))).body.message);
  await until('the API policy to be active', async () => (await refusalOf({ api: '' })).includes(name) || undefined);
  expect(await refusalOf({ file: '' })).toContain('by z.static.k8s.io');
  expect(await refusalOf({ file: '', api: '' })).toContain('by z.static.k8s.io');
  await request('DELETE', `${policies}/${name}`);
});

test('changed files are applied atomically, and invalid ones leave the previous policies active', async () => {
  const policy = (label: string): string =>
    withBinding(
      validating('changing.static.k8s.io', `!("${label}" in object.metadata.labels)`, rules('serviceaccounts')),
    );
  const served = await serve({ '/etc/validating/a.yaml': policy('one') }, true);
  const { request, write, logLines } = served;
  const status = async (label: string): Promise<number> =>
    (await request('POST', accounts, account({ [label]: '' }))).status;
  expect(await status('one')).toBe(422);
  const waitForLog = (text: string): Promise<true> =>
    until(text, () => logLines.some((line) => line.includes(text)) || undefined);
  await write('/etc/validating/b.yaml', '{"apiVersion":"v1","kind":"Pod"}');
  await waitForLog('cannot reload the configuration');
  expect(await status('one')).toBe(422);
  await write('/etc/validating/b.yaml', '');
  await write('/etc/validating/a.yaml', policy('two'));
  await waitForLog('configuration reloaded');
  await until('the new policy to be active', async () => (await status('two')) === 422 || undefined);
  expect(await status('one')).toBe(201);
  const prefix = 'apiserver_manifest_admission_config_controller';
  const plugin = 'ValidatingAdmissionPolicy';
  expect(await metric(served, `${prefix}_automatic_reloads_total`, { plugin, status: 'failure' })).toBe(1);
  expect(await metric(served, `${prefix}_automatic_reloads_total`, { plugin, status: 'success' })).toBeGreaterThan(1);
  expect(await metric(served, `${prefix}_last_config_info`, { plugin })).toBe(1);
});

describe('webhooks from files', () => {
  let hooks: AdmissionWebhooks;
  beforeAll(async () => {
    hooks = await startAdmissionWebhooks();
  });
  afterAll(() => hooks.server.stop());
  beforeEach(() => {
    hooks.calls.length = 0;
    hooks.handlers.clear();
  });
  const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const configuration = (type: 'Validating' | 'Mutating', name: string, webhook: object): object => ({
    apiVersion,
    kind: `${type}WebhookConfiguration`,
    metadata: { name },
    webhooks: [webhook],
  });
  const rulesOf = (apiGroup: string, resource: string): object[] => [
    { operations: ['CREATE', 'DELETE'], apiGroups: [apiGroup], apiVersions: ['v1'], resources: [resource] },
  ];

  test('are called from the first request on and can be neither read nor changed through the API', async () => {
    hooks.handlers.set('labels', respondWithLabel('by', 'file'));
    hooks.handlers.set('denies', respondWith({ allowed: false, status: { message: 'by the file' } }));
    const { request } = await serve({
      '/etc/mutating-webhooks/a.yaml': JSON.stringify(
        configuration('Mutating', 'labels.static.k8s.io', hooks.webhook('labels')),
      ),
      '/etc/validating-webhooks/a.yaml': JSON.stringify(
        configuration(
          'Validating',
          'denies.static.k8s.io',
          hooks.webhook('denies', { objectSelector: { matchLabels: { secret: 'yes' } } }),
        ),
      ),
    });
    const { body } = await request('POST', accounts, account());
    expect(body.metadata.labels).toEqual({ by: 'file' });
    hooks.handlers.set('labels', respondWithLabel('secret'));
    expect(await request('POST', accounts, account())).toMatchObject({
      status: 400,
      body: { message: 'admission webhook "denies.hooks.example.com" denied the request: by the file' },
    });
    expect((await request('GET', configurations)).body.items).toEqual([]);
    expect((await request('DELETE', `${configurations}/denies.static.k8s.io`)).status).toBe(404);
    const taken = configuration('Validating', 'other.static.k8s.io', hooks.webhook('other'));
    expect(await request('POST', configurations, taken)).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] } },
    });
  });

  test('are called before API webhooks and can protect admission objects from deletion', async () => {
    hooks.handlers.set('guards', respondWith({ allowed: false }));
    const protectedOnly = { objectSelector: { matchLabels: { protected: 'yes' } } };
    const { request } = await serve({
      '/etc/validating-webhooks/a.json': JSON.stringify(
        configuration(
          'Validating',
          'z.static.k8s.io',
          hooks.webhook('guards', {
            ...protectedOnly,
            rules: [...rulesOf('admissionregistration.k8s.io', '*'), ...rulesOf('', 'serviceaccounts')],
          }),
        ),
      ),
    });
    const name = uniqueName();
    const ofApi = { ...configuration('Validating', name, hooks.webhook('api')), metadata: { name } };
    expect((await request('POST', configurations, ofApi)).status).toBe(201);
    await request('POST', accounts, account({ protected: 'yes' }));
    expect(hooks.calledNames()).toEqual(['guards', 'api']);
    await request(
      'PATCH',
      `${configurations}/${name}`,
      { metadata: { labels: { protected: 'yes' } } },
      'application/merge-patch+json',
    );
    expect((await request('DELETE', `${configurations}/${name}`)).status).toBe(400);
    hooks.handlers.delete('guards');
    expect((await request('DELETE', `${configurations}/${name}`)).status).toBe(200);
  });

  test('are reloaded when their files change', async () => {
    hooks.handlers.set('denies', respondWith({ allowed: false }));
    const file = (name: string): string =>
      JSON.stringify(configuration('Validating', 'a.static.k8s.io', hooks.webhook(name)));
    const { request, write } = await serve({ '/etc/validating-webhooks/a.yaml': file('allows') });
    expect((await request('POST', accounts, account())).status).toBe(201);
    await write('/etc/validating-webhooks/a.yaml', file('denies'));
    const status = async (): Promise<number> => (await request('POST', accounts, account())).status;
    await until('the new webhook to be active', async () => (await status()) === 400 || undefined);
  });

  test.each<[string, object, string]>([
    [
      'a service',
      configuration('Validating', 'a.static.k8s.io', {
        name: 'a.example.com',
        clientConfig: { service: { namespace: 'a', name: 'b' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }),
      'webhooks[0].clientConfig.service: Forbidden: not supported for static manifests; use url',
    ],
    [
      'webhooks of the other type',
      configuration('Mutating', 'a.static.k8s.io', {}),
      `unsupported resource MutatingWebhookConfiguration of ${apiVersion}: expected ValidatingWebhookConfiguration of ${apiVersion}`,
    ],
    [
      'another name',
      configuration('Validating', 'a', {
        name: 'a.example.com',
        clientConfig: { url: 'https://example.com/' },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }),
      'metadata.name: Invalid value: "a": must end with ".static.k8s.io"',
    ],
  ])('with %s prevent the server from starting', async (_, given, fault) => {
    await expect(serve({ '/etc/validating-webhooks/a.yaml': JSON.stringify(given) })).rejects.toThrow(
      `--admission-control-config-file: /etc/validating-webhooks/a.yaml: ${fault}`,
    );
  });
});

describe('the server does not start with', () => {
  const fault = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const error: unknown = await serve(files).catch((refusal: unknown) => refusal);
    return error instanceof Error ? error.message : 'it started';
  };
  const at = '--admission-control-config-file: /etc/validating/a.yaml';
  const name = 'a.static.k8s.io';
  const policy = (more: object = {}): object => validating(name, 'true', rules('events'), more);
  test.each<[string, string, string[]]>([
    [
      'a policy without the reserved name suffix',
      JSON.stringify(validating('a', 'true', rules('events'))),
      [`${at}: metadata.name: Invalid value: "a": must end with ".static.k8s.io"`],
    ],
    [
      'a duplicate policy',
      `${JSON.stringify(policy())}\n---\n${JSON.stringify(policy())}`,
      [`${at}: document 2: metadata.name: Duplicate value: "${name}": /etc/validating/a.yaml: document 1`],
    ],
    [
      'an invalid policy',
      JSON.stringify(policy({ validations: [{ expression: 'nonsense(' }], failurePolicy: 'Never' })),
      [
        `${at}: spec.failurePolicy: Unsupported value: "Never"`,
        `${at}: spec.validations[0].expression: Invalid value: `,
      ],
    ],
    ['an unknown field', JSON.stringify(policy({ validation: [] })), [`${at}: unknown field "spec.validation"`]],
    ['a field of the wrong type', JSON.stringify(policy({ validations: 7 })), [`${at}: spec.validations: `]],
    [
      'parameters',
      JSON.stringify(policy({ paramKind: { apiVersion: 'v1', kind: 'Event' } })),
      [`${at}: spec.paramKind: Forbidden: not supported for static manifests`],
    ],
    [
      'a binding to an API policy',
      JSON.stringify({ ...binding('ValidatingAdmissionPolicy', 'x'), metadata: { name } }),
      [`${at}: spec.policyName: Invalid value: "x": must end with ".static.k8s.io"`],
    ],
    [
      'a binding to a missing policy',
      JSON.stringify(binding('ValidatingAdmissionPolicy', name)),
      [`${at}: spec.policyName: Invalid value: "${name}": there is no such policy in the directory`],
    ],
    [
      'a binding with parameters',
      `${JSON.stringify(policy())}\n---\n${JSON.stringify(binding('ValidatingAdmissionPolicy', name, { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } }))}`,
      [`${at}: document 2: spec.paramRef: Forbidden: not supported for static manifests`],
    ],
    [
      'an object of an unsupported kind',
      JSON.stringify(mutating(name, 'x')),
      [
        `${at}: unsupported resource MutatingAdmissionPolicy of ${apiVersion}: expected ValidatingAdmissionPolicy of ${apiVersion} or ValidatingAdmissionPolicyBinding of ${apiVersion}`,
      ],
    ],
    ['invalid YAML', 'a: [', [`${at}: the file is not valid YAML`]],
  ])('%s', async (_, text, faults) => {
    const message = await fault({ '/etc/validating/a.yaml': text });
    for (const one of faults) expect(message).toContain(one);
  });

  test('errors in both directories', async () => {
    const message = await fault({ '/etc/validating/a.yaml': '7', '/etc/mutating/a.yaml': '7' });
    expect(message.split('\n')).toEqual([
      '--admission-control-config-file: /etc/mutating/a.yaml: expected an object',
      '--admission-control-config-file: /etc/validating/a.yaml: expected an object',
    ]);
  });
});
