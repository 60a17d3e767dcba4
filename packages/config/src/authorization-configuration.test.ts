import { describe, expect, test } from '@jest/globals';
import { type AuthorizationConfiguration, ConfigurationError, loadAuthorizationConfiguration } from './index.ts';

const kubeconfig = (server: string, cluster: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, ...cluster } }],
    contexts: [{ name: 'x', context: { cluster: 'c' } }],
    'current-context': 'x',
  });
const contents: Readonly<Record<string, string>> = {
  '/etc/hook.yaml': kubeconfig('https://reviews.example.com/authorize'),
  '/etc/plain.yaml': kubeconfig('http://reviews.example.com', { 'insecure-skip-tls-verify': true }),
  '/etc/no-ca.yaml': kubeconfig('https://reviews.example.com', { 'certificate-authority': 'ca.crt' }),
  '/etc/bad-ca.yaml': kubeconfig('https://reviews.example.com', { 'certificate-authority': 'hook.yaml' }),
};
const readFile = async (path: string): Promise<Buffer> => {
  const content = contents[path];
  if (content === undefined) throw new Error(`no file ${path}`);
  return Buffer.from(content);
};

const settings = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'NoOpinion',
  connectionInfo: { type: 'PlatformConfigFile', platformConfigFile: '/etc/hook.yaml' },
};
const hook = (part: object = {}, name = 'hook'): object => ({
  type: 'Webhook',
  name,
  webhook: { ...settings, ...part },
});
const rbac = { type: 'RBAC', name: 'rbac' };
const file = (...authorizers: unknown[]): object => ({
  apiVersion: 'apiserver.config.platform.io/v1',
  kind: 'AuthorizationConfiguration',
  authorizers,
});
const conditions = (...expressions: unknown[]): object =>
  hook({ matchConditions: expressions.map((expression) => ({ expression })) });

const load = (content: object | string, policyFileGiven = false): Promise<AuthorizationConfiguration> =>
  loadAuthorizationConfiguration(typeof content === 'string' ? content : JSON.stringify(content), {
    readFile,
    policyFileGiven,
  });

async function problemsOf(content: object | string, policyFileGiven = false): Promise<readonly string[]> {
  try {
    await load(content, policyFileGiven);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

test('reads a complete configuration from YAML', async () => {
  const { authorizers } = await load(`
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: teams.example.com
    webhook:
      authorizedTTL: 10s
      cacheAuthorizedRequests: true
      unauthorizedTTL: 1m30s
      cacheUnauthorizedRequests: false
      timeout: 30s
      subjectAccessReviewVersion: v1beta1
      matchConditionSubjectAccessReviewVersion: v1
      failurePolicy: Deny
      connectionInfo:
        type: KubeConfigFile
        kubeConfigFile: /etc/hook.yaml
      matchConditions:
        - expression: has(request.resourceAttributes)
        - expression: "!('admins' in groups)"
  - { type: RBAC, name: rbac }
  - { type: AlwaysDeny, name: closed }
`);
  expect(authorizers).toMatchObject([
    {
      type: 'Webhook',
      name: 'teams.example.com',
      webhook: {
        authorizedTtlMs: 10_000,
        unauthorizedTtlMs: 0,
        timeoutMs: 30_000,
        subjectAccessReviewVersion: 'v1beta1',
        failurePolicy: 'Deny',
        connectionFile: '/etc/hook.yaml',
        connection: { server: new URL('https://reviews.example.com/authorize') },
        matchConditions: [{ text: 'has(request.resourceAttributes)' }, { text: "!('admins' in groups)" }],
      },
    },
    { type: 'RBAC', name: 'rbac' },
    { type: 'AlwaysDeny', name: 'closed' },
  ]);
});

test('caches responses for five minutes and thirty seconds by default', async () => {
  const cached = { authorizedTtlMs: 300_000, unauthorizedTtlMs: 30_000 };
  for (const part of [{}, { authorizedTTL: '0s', unauthorizedTTL: null, cacheAuthorizedRequests: true }])
    expect((await load(file(hook(part)))).authorizers).toMatchObject([{ webhook: cached }]);
  const off = { cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false };
  expect((await load(file(hook(off)))).authorizers).toMatchObject([
    { webhook: { authorizedTtlMs: 0, unauthorizedTtlMs: 0 } },
  ]);
});

test.each<[string, object]>([
  ['webhooks alone', file(hook(), hook({}, 'other'))],
  ['every type', file(rbac, { type: 'AlwaysAllow', name: 'a' }, { type: 'AlwaysDeny', name: 'b' }, hook())],
  ['ABAC beside its policy file', file({ type: 'ABAC', name: 'abac' })],
  ['a name that is a label', file({ type: 'RBAC', name: '0-a' })],
  ['no version for conditions that are not there', file(hook({ matchConditionSubjectAccessReviewVersion: null }))],
  ['64 conditions', file(conditions(...Array.from({ length: 64 }, (_, at) => `user != 'u${at}'`)))],
  ['the longest timeout', file(hook({ timeout: '30s' }))],
  [
    'conditions on all variables, bare and below request',
    file(
      conditions(
        ...['', 'request.'].flatMap((at) => [
          `has(${at}resourceAttributes.verb) && ${at}resourceAttributes.namespace == 'x'`,
          `${at}resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'a' && 'b' in r.values)`,
          `${at}resourceAttributes.labelSelector.rawSelector == ''`,
          `${at}nonResourceAttributes.path.startsWith('/a') || ${at}nonResourceAttributes.verb == 'get'`,
          `${at}user == 'ann' && 'devs' in ${at}groups && ${at}uid != '' && 'b' in ${at}extra['a']`,
        ]),
      ),
    ),
  ],
])('accepts a file with %s', async (_, content) => {
  expect(await problemsOf(content, true)).toEqual([]);
});

const supported = 'supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "RBAC", "Webhook"';
const at = 'authorizers[0].webhook';

describe('rejects a file that', () => {
  test.each<[string, object | string, string | RegExp]>([
    ['is empty', '', 'the file is empty'],
    ['has another kind', { ...file(rbac), kind: 'AuthenticationConfiguration' }, /^kind: expected Authorization/],
    [
      'has an unknown version',
      { ...file(rbac), apiVersion: 'apiserver.config.platform.io/v2' },
      /^apiVersion: expected/,
    ],
    ['has an unknown field', { ...file(rbac), modes: [] }, 'unknown field "modes"'],
    ['has no authorizers', file(), 'authorizers: Required value: at least one authorization mode must be defined'],
    ['has null for them', { ...file(), authorizers: null }, /^authorizers: Required value/],
    ['has another form', { ...file(), authorizers: rbac }, 'authorizers: expected a list, got an object'],
    ['has too many', file(...Array.from({ length: 65 }, (_, i) => hook({}, `h${i}`))), /^authorizers: Too many: 65/],
    ['has an authorizer that is none', file('RBAC'), 'authorizers[0]: expected an object, got a string'],
    ['has an unknown field in it', file({ ...rbac, weight: 1 }), 'authorizers[0]: unknown field "weight"'],
    ['has no type', file({ name: 'a' }), 'authorizers[0].type: Required value'],
    [
      'has an unknown type',
      file({ ...rbac, type: 'Foo' }),
      `authorizers[0].type: Unsupported value: "Foo": ${supported}`,
    ],
    [
      'has the type of nodes',
      file({ type: 'Node', name: 'node' }),
      `authorizers[0].type: Unsupported value: "Node": there are no nodes here, ${supported}`,
    ],
    ['has a type twice', file(rbac, { ...rbac, name: 'b' }), 'authorizers[1].type: Duplicate value: "RBAC"'],
    [
      'has ABAC without policies',
      file({ type: 'ABAC', name: 'abac' }),
      'authorizers[0].type: Forbidden: needs the flag --authorization-policy-file',
    ],
    ['has no name', file({ type: 'RBAC' }), 'authorizers[0].name: Required value'],
    ['has an empty name', file({ type: 'RBAC', name: '' }), 'authorizers[0].name: Required value'],
    [
      'has a name that is no subdomain',
      file({ type: 'RBAC', name: 'A B' }),
      /^authorizers\[0\]\.name: Invalid value: "A B": authorizer name is invalid: a lowercase RFC 1123 subdomain/,
    ],
    [
      'has a name that is too long',
      file({ type: 'RBAC', name: 'a'.repeat(254) }),
      /^authorizers\[0\]\.name: Invalid value: .*must be no more than 253/,
    ],
    ['has a name twice', file(rbac, hook({}, 'rbac')), 'authorizers[1].name: Duplicate value: "rbac"'],
    [
      'has webhook settings elsewhere',
      file({ ...rbac, webhook: settings }),
      'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
    ],
    [
      'has none for a webhook',
      file({ type: 'Webhook', name: 'w' }),
      `${at}: Required value: required when type=Webhook`,
    ],
    ['has an unknown setting', file(hook({ retries: 1 })), `${at}: unknown field "retries"`],
    ['has no timeout', file(hook({ timeout: null })), `${at}.timeout: Required value`],
    [
      'has a timeout too long',
      file(hook({ timeout: '31s' })),
      `${at}.timeout: Invalid value: "31s": must be > 0s and <= 30s`,
    ],
    [
      'has a timeout of nothing',
      file(hook({ timeout: '0s' })),
      `${at}.timeout: Invalid value: "0s": must be > 0s and <= 30s`,
    ],
    [
      'has a timeout below that',
      file(hook({ timeout: '-1s' })),
      `${at}.timeout: Invalid value: "-1s": must be > 0s and <= 30s`,
    ],
    [
      'has a timeout that is none',
      file(hook({ timeout: 'abc' })),
      `${at}.timeout: expected a duration such as 3s or 1m30s`,
    ],
    ['has a number for it', file(hook({ timeout: 3 })), `${at}.timeout: expected a string, got a number`],
    [
      'has a negative TTL',
      file(hook({ authorizedTTL: '-1s' })),
      `${at}.authorizedTTL: Invalid value: "-1s": must be > 0s`,
    ],
    [
      'has another',
      file(hook({ unauthorizedTTL: '-1ms' })),
      `${at}.unauthorizedTTL: Invalid value: "-1ms": must be > 0s`,
    ],
    [
      'has a switch that is none',
      file(hook({ cacheAuthorizedRequests: 'no' })),
      `${at}.cacheAuthorizedRequests: expected true or false, got a string`,
    ],
    [
      'has another switch',
      file(hook({ cacheUnauthorizedRequests: 0 })),
      /cacheUnauthorizedRequests: expected true or false/,
    ],
    [
      'has no version',
      file(hook({ subjectAccessReviewVersion: '' })),
      `${at}.subjectAccessReviewVersion: Required value`,
    ],
    [
      'has an unknown version of reviews',
      file(hook({ subjectAccessReviewVersion: 'v2' })),
      `${at}.subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"`,
    ],
    ['has no failure policy', file(hook({ failurePolicy: null })), `${at}.failurePolicy: Required value`],
    [
      'has an unknown one',
      file(hook({ failurePolicy: 'Maybe' })),
      `${at}.failurePolicy: Unsupported value: "Maybe": supported values: "NoOpinion", "Deny"`,
    ],
    ['has no connection', file(hook({ connectionInfo: null })), `${at}.connectionInfo: Required value`],
    ['has one without type', file(hook({ connectionInfo: {} })), `${at}.connectionInfo.type: Required value`],
    [
      'asks itself',
      file(hook({ connectionInfo: { type: 'InClusterConfig' } })),
      `${at}.connectionInfo.type: Unsupported value: "InClusterConfig": the API server cannot call itself, supported values: "PlatformConfigFile", "KubeConfigFile"`,
    ],
    [
      'has an unknown type of connection',
      file(hook({ connectionInfo: { type: 'Url' } })),
      `${at}.connectionInfo.type: Unsupported value: "Url": supported values: "PlatformConfigFile", "KubeConfigFile"`,
    ],
    [
      'names no connection file',
      file(hook({ connectionInfo: { type: 'PlatformConfigFile' } })),
      `${at}.connectionInfo.platformConfigFile: Required value: required when type=PlatformConfigFile`,
    ],
    [
      'names it by the other field',
      file(hook({ connectionInfo: { type: 'KubeConfigFile', platformConfigFile: '/etc/hook.yaml' } })),
      `${at}.connectionInfo.platformConfigFile: Forbidden: may not be specified when type=KubeConfigFile`,
    ],
    [
      'names a relative path',
      file(hook({ connectionInfo: { ...settings.connectionInfo, platformConfigFile: 'hook.yaml' } })),
      `${at}.connectionInfo.platformConfigFile: Invalid value: "hook.yaml": must be an absolute path`,
    ],
    [
      'names a file that is not there',
      file(hook({ connectionInfo: { ...settings.connectionInfo, platformConfigFile: '/nope' } })),
      `${at}.connectionInfo.platformConfigFile: Invalid value: "/nope": cannot read /nope: no file /nope`,
    ],
    [
      'names one with a fault',
      file(hook({ connectionInfo: { ...settings.connectionInfo, platformConfigFile: '/etc/plain.yaml' } })),
      /platformConfigFile: Invalid value: "\/etc\/plain.yaml": clusters\[0\].cluster.server: expected a URL with https/,
    ],
    [
      'names one whose authority is not there',
      file(hook({ connectionInfo: { ...settings.connectionInfo, platformConfigFile: '/etc/no-ca.yaml' } })),
      /"\/etc\/no-ca.yaml": clusters\[0\]\.cluster\.certificate-authority: cannot read ca.crt: no file \/etc\/ca.crt$/,
    ],
    [
      'names one whose authority is none',
      file(hook({ connectionInfo: { ...settings.connectionInfo, platformConfigFile: '/etc/bad-ca.yaml' } })),
      /: the certificate authority holds no certificates in PEM$/,
    ],
    [
      'has conditions without their version',
      file(hook({ matchConditionSubjectAccessReviewVersion: undefined, matchConditions: [{ expression: 'true' }] })),
      `${at}.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified`,
    ],
    [
      'has conditions of another version',
      file(hook({ matchConditionSubjectAccessReviewVersion: 'v1beta1' })),
      `${at}.matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"`,
    ],
    [
      'has too many conditions',
      file(conditions(...Array.from({ length: 65 }, (_, i) => `user != 'u${i}'`))),
      `${at}.matchConditions: Too many: 65: must have at most 64 items`,
    ],
    ['has an empty condition', file(conditions('')), `${at}.matchConditions[0].expression: Required value`],
    [
      'has a condition twice',
      file(conditions('true', 'true')),
      `${at}.matchConditions[1].expression: Duplicate value: "true"`,
    ],
    [
      'has a condition that is no CEL',
      file(conditions('user ==')),
      /^authorizers\[0\].*compilation failed: ERROR: .*Syntax/,
    ],
    ['has one with an unknown variable', file(conditions("name == ''")), /compilation failed: .*undeclared reference/s],
    [
      'has one with an unknown field',
      file(conditions('request.users == 1')),
      /compilation failed: .*undefined field 'users'/s,
    ],
    ['has one that is no bool', file(conditions('user')), /expression: Invalid value: "user": must evaluate to bool/],
  ])('%s', async (_, content, problem) => {
    const problems = await problemsOf(content);
    expect(problems).toEqual(
      expect.arrayContaining([typeof problem === 'string' ? problem : expect.stringMatching(problem)]),
    );
  });
});

test('reports all problems at once, including those of connection files', async () => {
  const problems = await problemsOf(
    file(
      { type: 'Node' },
      hook({ failurePolicy: 'Maybe', connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/etc/plain.yaml' } }),
      hook({ timeout: '1h', matchConditions: [{ expression: '1' }, { expression: 'user +' }] }),
    ),
  );
  expect(problems.map((problem) => problem.split(': ', 1)[0])).toEqual([
    'authorizers[0].type',
    'authorizers[0].name',
    'authorizers[1].webhook.failurePolicy',
    'authorizers[2].name',
    'authorizers[2].webhook.timeout',
    'authorizers[2].webhook.matchConditions[0].expression',
    'authorizers[2].webhook.matchConditions[1].expression',
    'authorizers[1].webhook.connectionInfo.kubeConfigFile',
    'authorizers[1].webhook.connectionInfo.kubeConfigFile',
  ]);
});
