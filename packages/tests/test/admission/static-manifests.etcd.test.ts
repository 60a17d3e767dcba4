/** Policies and webhooks from files, in the server as it is assembled. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../../../base/test/until.ts';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { metric } from '../authorization/configuration.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';
import { type AdmissionWebhooks, labels, says, startAdmissionWebhooks } from './admission-webhook.ts';

let etcd: RealEtcd;
let server: ServedKinds | undefined;
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
const bound = (policy: object): string => {
  const { kind, metadata } = policy as { kind: string; metadata: { name: string } };
  return [policy, binding(kind, metadata.name)].map((one) => JSON.stringify(one)).join('\n---\n');
};

const serve = async (files: Readonly<Record<string, string>>, errorsExpected = false): Promise<ServedKinds> => {
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
const fresh = (): string => `static-${++run}`;
const account = (labels: object = {}): object => ({ metadata: { name: fresh(), labels } });

test('policies of files are in force from the first request on, and seen by nobody', async () => {
  const { ask } = await serve({
    '/etc/validating/a.yaml': bound(
      validating(
        'no-secrets.static.k8s.io',
        '!has(object.metadata.labels) || !("secret" in object.metadata.labels)',
        rules('serviceaccounts'),
      ),
    ),
    '/etc/mutating/b.json': bound(mutating('marked.static.k8s.io', 'marked')),
  });
  expect(await ask('POST', accounts, account({ secret: 'x' }))).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('by no-secrets.static.k8s.io') },
  });
  const { body } = await ask('POST', accounts, account({ public: 'x' }));
  expect(body.metadata.labels).toEqual({ public: 'x', marked: 'yes' });
  expect((await ask('GET', policies)).body.items).toEqual([]);
  expect(await ask('DELETE', `${policies}/no-secrets.static.k8s.io`)).toMatchObject({ status: 404 });
  const other = validating('other.static.k8s.io', 'true', rules('events'));
  expect(await ask('POST', policies, other)).toMatchObject({
    status: 422,
    body: {
      message: expect.stringContaining('names ending with ".static.k8s.io" are reserved for static manifest-based'),
      details: { causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] },
    },
  });
});

test('they hold for policies of the API, too, and not for reviews', async () => {
  const { ask } = await serve({
    '/etc/validating/a.yaml': bound(
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
  expect(await ask('POST', policies, validating(fresh(), 'true', rules('events')))).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('by frozen.static.k8s.io') },
  });
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
  expect(await ask('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)).toMatchObject({
    status: 201,
  });
});

test('they are asked before the policies of the API, and both hold', async () => {
  const { ask } = await serve({
    '/etc/validating/a.yaml': bound(
      validating('z.static.k8s.io', '!("file" in object.metadata.labels)', rules('serviceaccounts')),
    ),
  });
  const name = fresh();
  const ofApi = validating(name, '!("api" in object.metadata.labels)', rules('serviceaccounts'));
  await ask('POST', policies, ofApi);
  await ask('POST', policies.replace('policies', 'policybindings'), binding('ValidatingAdmissionPolicy', name));
  const refusalOf = async (labels: object): Promise<string> =>
    String((await ask('POST', accounts, account(labels))).body.message);
  await until(
    'the policy of the API is in force',
    async () => (await refusalOf({ api: '' })).includes(name) || undefined,
  );
  expect(await refusalOf({ file: '' })).toContain('by z.static.k8s.io');
  expect(await refusalOf({ file: '', api: '' })).toContain('by z.static.k8s.io');
  await ask('DELETE', `${policies}/${name}`);
});

test('changed files come into force as a whole, and faulty ones leave the old ones there', async () => {
  const policy = (label: string): string =>
    bound(validating('changing.static.k8s.io', `!("${label}" in object.metadata.labels)`, rules('serviceaccounts')));
  const served = await serve({ '/etc/validating/a.yaml': policy('one') }, true);
  const { ask, write, logged } = served;
  const status = async (label: string): Promise<number> =>
    (await ask('POST', accounts, account({ [label]: '' }))).status;
  expect(await status('one')).toBe(422);
  const seen = (text: string): Promise<true> =>
    until(text, () => logged.some((line) => line.includes(text)) || undefined);
  await write('/etc/validating/b.yaml', '{"apiVersion":"v1","kind":"Pod"}');
  await seen('cannot reload static admission manifests');
  expect(await status('one')).toBe(422);
  await write('/etc/validating/b.yaml', '');
  await write('/etc/validating/a.yaml', policy('two'));
  await seen('static admission manifests reloaded');
  await until('the new policy is in force', async () => (await status('two')) === 422 || undefined);
  expect(await status('one')).toBe(201);
  const prefix = 'apiserver_manifest_admission_config_controller';
  const plugin = 'ValidatingAdmissionPolicy';
  expect(await metric(served, `${prefix}_automatic_reloads_total`, { plugin, status: 'failure' })).toBe(1);
  expect(await metric(served, `${prefix}_automatic_reloads_total`, { plugin, status: 'success' })).toBeGreaterThan(1);
  expect(await metric(served, `${prefix}_last_config_info`, { plugin })).toBe(1);
});

describe('webhooks of files', () => {
  let hooks: AdmissionWebhooks;
  beforeAll(async () => {
    hooks = await startAdmissionWebhooks();
  });
  afterAll(() => hooks.server.leave());
  beforeEach(() => {
    hooks.asked.length = 0;
    hooks.answers.clear();
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

  test('are called from the first request on, and seen and changed by nobody', async () => {
    hooks.answers.set('labels', labels('by', 'file'));
    hooks.answers.set('denies', says({ allowed: false, status: { message: 'by the file' } }));
    const { ask } = await serve({
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
    const { body } = await ask('POST', accounts, account());
    expect(body.metadata.labels).toEqual({ by: 'file' });
    hooks.answers.set('labels', labels('secret'));
    expect(await ask('POST', accounts, account())).toMatchObject({
      status: 400,
      body: { message: 'admission webhook "denies.hooks.example.com" denied the request: by the file' },
    });
    expect((await ask('GET', configurations)).body.items).toEqual([]);
    expect((await ask('DELETE', `${configurations}/denies.static.k8s.io`)).status).toBe(404);
    const taken = configuration('Validating', 'other.static.k8s.io', hooks.webhook('other'));
    expect(await ask('POST', configurations, taken)).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] } },
    });
  });

  test('are called before those of the API, and keep objects of admission from being deleted', async () => {
    hooks.answers.set('guards', says({ allowed: false }));
    const protectedOnly = { objectSelector: { matchLabels: { protected: 'yes' } } };
    const { ask } = await serve({
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
    const name = fresh();
    const ofApi = { ...configuration('Validating', name, hooks.webhook('api')), metadata: { name } };
    expect((await ask('POST', configurations, ofApi)).status).toBe(201);
    await ask('POST', accounts, account({ protected: 'yes' }));
    expect(hooks.pathsAsked()).toEqual(['guards', 'api']);
    await ask(
      'PATCH',
      `${configurations}/${name}`,
      { metadata: { labels: { protected: 'yes' } } },
      'application/merge-patch+json',
    );
    expect((await ask('DELETE', `${configurations}/${name}`)).status).toBe(400);
    hooks.answers.delete('guards');
    expect((await ask('DELETE', `${configurations}/${name}`)).status).toBe(200);
  });

  test('follow their files', async () => {
    hooks.answers.set('denies', says({ allowed: false }));
    const file = (name: string): string =>
      JSON.stringify(configuration('Validating', 'a.static.k8s.io', hooks.webhook(name)));
    const { ask, write } = await serve({ '/etc/validating-webhooks/a.yaml': file('allows') });
    expect((await ask('POST', accounts, account())).status).toBe(201);
    await write('/etc/validating-webhooks/a.yaml', file('denies'));
    const status = async (): Promise<number> => (await ask('POST', accounts, account())).status;
    await until('the new webhook is in force', async () => (await status()) === 400 || undefined);
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
  ])('with %s keep the server from starting', async (_, given, fault) => {
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
      'a policy with another name',
      JSON.stringify(validating('a', 'true', rules('events'))),
      [`${at}: metadata.name: Invalid value: "a": must end with ".static.k8s.io"`],
    ],
    [
      'a policy twice',
      `${JSON.stringify(policy())}\n---\n${JSON.stringify(policy())}`,
      [`${at}: document 2: metadata.name: Duplicate value: "${name}": /etc/validating/a.yaml: document 1`],
    ],
    [
      'a policy that its kind refuses',
      JSON.stringify(policy({ validations: [{ expression: 'nonsense(' }], failurePolicy: 'Never' })),
      [
        `${at}: spec.failurePolicy: Unsupported value: "Never"`,
        `${at}: spec.validations[0].expression: Invalid value: `,
      ],
    ],
    ['an unknown field', JSON.stringify(policy({ validation: [] })), [`${at}: unknown field "spec.validation"`]],
    ['a wrong type', JSON.stringify(policy({ validations: 7 })), [`${at}: spec.validations: `]],
    [
      'parameters',
      JSON.stringify(policy({ paramKind: { apiVersion: 'v1', kind: 'Event' } })),
      [`${at}: spec.paramKind: Forbidden: not supported for static manifests`],
    ],
    [
      'a binding of a policy of the API',
      JSON.stringify({ ...binding('ValidatingAdmissionPolicy', 'x'), metadata: { name } }),
      [`${at}: spec.policyName: Invalid value: "x": must end with ".static.k8s.io"`],
    ],
    [
      'a binding of a policy that is not there',
      JSON.stringify(binding('ValidatingAdmissionPolicy', name)),
      [`${at}: spec.policyName: Invalid value: "${name}": there is no such policy in the directory`],
    ],
    [
      'parameters of a binding',
      `${JSON.stringify(policy())}\n---\n${JSON.stringify(binding('ValidatingAdmissionPolicy', name, { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } }))}`,
      [`${at}: document 2: spec.paramRef: Forbidden: not supported for static manifests`],
    ],
    [
      'an object of another kind',
      JSON.stringify(mutating(name, 'x')),
      [
        `${at}: unsupported resource MutatingAdmissionPolicy of ${apiVersion}: expected ValidatingAdmissionPolicy of ${apiVersion} or ValidatingAdmissionPolicyBinding of ${apiVersion}`,
      ],
    ],
    ['text that is no YAML', 'a: [', [`${at}: the file is not valid YAML`]],
  ])('%s', async (_, text, faults) => {
    const message = await fault({ '/etc/validating/a.yaml': text });
    for (const one of faults) expect(message).toContain(one);
  });

  test('faults of both directories', async () => {
    const message = await fault({ '/etc/validating/a.yaml': '7', '/etc/mutating/a.yaml': '7' });
    expect(message.split('\n')).toEqual([
      '--admission-control-config-file: /etc/mutating/a.yaml: expected an object',
      '--admission-control-config-file: /etc/validating/a.yaml: expected an object',
    ]);
  });
});
