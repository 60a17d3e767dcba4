/** Policies from files, in the server as it is assembled. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '../../../base/test/until.ts';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { metric } from '../authorization/configuration.ts';
import { type ServedKinds, serveKinds } from '../serve-kinds.ts';

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
  const plugin = (name: string, directory: string): object => ({
    name,
    configuration: {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: `${name}Configuration`,
      staticManifestsDir: directory,
    },
  });
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
        ],
      }),
      '/etc/validating/notes.txt': 'not a manifest',
      '/etc/mutating/notes.txt': 'not a manifest',
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
  await seen('static admission manifests cannot be used');
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
