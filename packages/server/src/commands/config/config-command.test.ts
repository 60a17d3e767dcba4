import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { systemRandom } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import { configurationKinds, nameOf } from '@cluster-apiserver/config';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { configCommand } from './config-command.ts';

const clock = fakeClock();

interface Ran {
  readonly code: number;
  readonly lines: readonly string[];
  readonly errors: readonly string[];
}

async function run(files: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> {
  const lines: string[] = [];
  const errors: string[] = [];
  const read = async (path: string): Promise<Buffer> => {
    const content = files[path];
    if (content === undefined) throw new Error(`no file ${path}`);
    return Buffer.from(content);
  };
  const list = async (directory: string): Promise<readonly string[]> =>
    Object.keys(files)
      .filter((path) => path.startsWith(`${directory}/`))
      .map((path) => path.slice(directory.length + 1));
  const environment = {
    clock,
    random: systemRandom(),
    files: { read, list, mode: async () => 0o600, write: async () => {} },
  };
  const code = await configCommand(
    args,
    environment,
    (line) => lines.push(line),
    (line) => errors.push(line),
  );
  return { code, lines, errors };
}

const check = (text: string, more: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  run({ ...more, file: text }, 'check', 'file');

const policy = (name: string, expression: string): string => `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ${name}}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [events]}]}
  validations:
    - expression: ${expression}
`;
const binding = (name: string, policyName: string): string => `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ${name}}
spec: {policyName: ${policyName}, validationActions: [Deny]}
`;
const config = (apiVersion: string, kind: string, rest: string): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\n${rest}`;
const usual = 'apiserver.config.k8s.io/v1';
const kubeconfig = config(
  'v1',
  'Config',
  `clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]
users: [{name: u, user: {token: hush hush}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
);

describe('config check finds', () => {
  test.each<[string, string, readonly string[], Readonly<Record<string, string>>?]>([
    [
      'what an AuthenticationConfiguration has wrong, each at its place',
      config(usual, 'AuthenticationConfiguration', 'jwt:\n- issuer: {url: "http://a", audiences: [7]}\n  more: 1\n'),
      [
        'file:4:3 jwt[0].claimMappings: Required value',
        'file:4:17 jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https',
        'file:4:41 jwt[0].issuer.audiences[0]: expected a string, got a number',
        'file:5:3 jwt[0]: unknown field "more"',
      ],
    ],
    [
      'CEL of another type, in several lines of YAML',
      config(
        usual,
        'AuthenticationConfiguration',
        `jwt:
- issuer: {url: https://a, audiences: [a]}
  claimMappings:
    username:
      expression: |
        claims.sub + 1
`,
      ),
      [
        expect.stringMatching(
          /^file:7:7 jwt\[0\]\.claimMappings\.username\.expression: Invalid value: .*must evaluate to a string/,
        ) as never,
      ],
    ],
    [
      'keys that are set twice',
      config(usual, 'EncryptionConfiguration', 'kind: EncryptionConfiguration\nresources: []\n'),
      ['file:3:1 the key "kind" is already set in this map', 'file:4:12 resources: name at least a list of resources'],
    ],
    [
      'JSON, by lines and columns, too, and no secret of it',
      `{"apiVersion": "${usual}",\n "kind": "EncryptionConfiguration",\n\t"resources": [{"resources": ["events"],
  "providers": [{"aesgcm": {"keys": [{"name": "k", "secret": "aHVzaA=="}]}}]}]}`,
      ['file:4:62 resources[0].providers[0].aesgcm.keys[0].secret: the key has 4 bytes and must have 16, 24 or 32'],
    ],
    ['text that is no YAML', 'a: [', ['file:1:5 the file is not valid YAML']],
    ['an empty file', '', ['file:1:1 the file is empty']],
    [
      'a file of another kind',
      config('v1', 'Pod', ''),
      [expect.stringMatching(/^file:2:7 kind: "Pod" of "v1"/) as never],
    ],
    [
      'another version of a known kind',
      config('apiserver.config.k8s.io/v9', 'EncryptionConfiguration', ''),
      [
        'file:1:1 resources: name at least a list of resources',
        'file:1:13 apiVersion: expected apiserver.config.platform.io/v1 or apiserver.config.k8s.io/v1',
      ],
    ],
    [
      'lines of ABAC policies',
      `# all\n  {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": 1}}\nx\n`,
      ['file:2:97 spec.user: expected a string, got a number', 'file:3:1 expected a policy as JSON'],
    ],
    [
      'what a kubeconfig and its files have wrong, and no token',
      kubeconfig,
      [
        'file:3:76 clusters[0].cluster.certificate-authority: cannot read ca.crt: no file ca.crt',
        'file:4:33 users[0].user.token: the token is empty or has characters that cannot be sent',
      ],
    ],
    [
      'faults of files that the file names, at their places there',
      config(usual, 'AdmissionConfiguration', 'plugins: [{name: EventRateLimit, path: /limits}, {name: Other}]\n'),
      [
        '/limits:3:9 limits: Invalid value: []: must not be empty',
        'file:3:57 plugins[1].name: Unsupported value: "Other": there is ',
      ],
      { '/limits': config('eventratelimit.admission.k8s.io/v1alpha1', 'Configuration', 'limits: [ ]\n') },
    ],
    [
      'faults of static manifests, across documents and files',
      config(usual, 'ValidatingAdmissionPolicyConfiguration', 'staticManifestsDir: /dir\n'),
      [
        '/dir/a.yaml:3:18 metadata.name: Invalid value: "a": must end with ".static.k8s.io"',
        expect.stringMatching(/^\/dir\/b\.yaml:15:19 spec\.validations\[0\]\.expression: Invalid value/) as never,
      ],
      {
        '/dir/a.yaml': policy('a', "'true'"),
        '/dir/b.yaml': `${binding('b.static.k8s.io', 'c.static.k8s.io').repeat(1)}\n\n---\n\n${policy('c.static.k8s.io', 'object.kind +')}`,
      },
    ],
    [
      'references of files that have other problems: a binding without its policy, next to an invalid policy',
      `${binding('b.static.k8s.io', 'none.static.k8s.io')}---\n${policy('c.static.k8s.io', 'object.kind +')}---\n${binding('d.static.k8s.io', 'c.static.k8s.io')}`,
      [
        'file:4:20 spec.policyName: Invalid value: "none.static.k8s.io": there is no such policy in the directory',
        expect.stringMatching(/^file:12:19 spec\.validations\[0\]\.expression: Invalid value/) as never,
      ],
    ],
    [
      'manifests in the directory of a configuration that has other problems',
      config(usual, 'ValidatingAdmissionPolicyConfiguration', 'more: 1\nstaticManifestsDir: /dir\n'),
      [
        '/dir/a.yaml:3:18 metadata.name: Invalid value: "a": must end with ".static.k8s.io"',
        'file:3:1 unknown field "more"',
      ],
      { '/dir/a.yaml': policy('a', "'true'") },
    ],
    [
      'files of a kubeconfig that has other problems',
      kubeconfig.replace('hush hush', 'hush').replace("server: 'https://h'", "server: 'http://h'"),
      [
        'file:3:40 clusters[0].cluster.server: ',
        'file:3:75 clusters[0].cluster.certificate-authority: cannot read ca.crt: no file ca.crt',
      ],
    ],
    [
      'certificates of a proxy next to a proxy that is wrong',
      config(
        'apiserver.k8s.io/v1',
        'EgressSelectorConfiguration',
        `egressSelections:
- {name: cluster, connection: {proxyProtocol: Direct, transport: {}}}
- name: controlplane
  connection:
    proxyProtocol: HTTPConnect
    transport: {tcp: {url: 'https://p', tlsConfig: {clientCert: /none.crt, clientKey: /none.key}}}
`,
      ),
      [
        'file:4:66 egressSelections[0].connection.transport: must not be set for Direct',
        'file:8:65 egressSelections[1].connection.transport.tcp.tlsConfig.clientCert: cannot read /none.crt',
        'file:8:87 egressSelections[1].connection.transport.tcp.tlsConfig.clientKey: cannot read /none.key',
      ],
    ],
    [
      'bindings without their policies',
      binding('b.static.k8s.io', 'c.static.k8s.io'),
      ['file:4:20 spec.policyName: Invalid value: "c.static.k8s.io": there is no such policy in the directory'],
    ],
    [
      'files of credentials that are not there',
      config(
        'apiserver.k8s.io/v1',
        'EgressSelectorConfiguration',
        `egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {tcp: {url: 'https://p', tlsConfig: {clientCert: c, clientKey: k}}}
`,
      ),
      [
        'file:7:65 egressSelections[0].connection.transport.tcp.tlsConfig.clientCert: cannot read c: no file c',
        'file:7:79 egressSelections[0].connection.transport.tcp.tlsConfig.clientKey: cannot read k: no file k',
      ],
    ],
    [
      'PEM that cannot be read',
      '-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n',
      ['file:1:1 the certificate cannot be read'],
    ],
  ])('%s', async (_, text, expected, more = {}) => {
    const { code, lines } = await check(text, more);
    const matching = lines.map((line, index) => {
      const wanted = expected[index];
      return typeof wanted === 'string' && line.startsWith(wanted) ? wanted : line;
    });
    expect(matching).toEqual(expected);
    expect(code).toBe(1);
    expect(lines.join()).not.toMatch(/hush|aHVz/);
  });

  test('all problems of all files, also of a missing one', async () => {
    const files = { one: config('v1', 'Pod', ''), two: 'a: [' };
    const { code, lines } = await run(files, 'check', 'one', 'absent', 'two');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['one:2:7', 'absent:1:1', 'two:1:5']);
    expect(code).toBe(1);
  });
});

describe('certificates', () => {
  let pem: string;
  let toMs: number;
  beforeAll(async () => {
    const authority = await createAuthority('ca', clock, systemRandom());
    pem = authority.certificate;
    toMs = new X509Certificate(pem).validToDate.getTime();
  });
  const authentication = (): string =>
    config(
      usual,
      'AuthenticationConfiguration',
      `jwt:
- issuer: {url: https://a, audiences: [a], certificateAuthority: ${JSON.stringify(pem)}}
  claimMappings: {username: {claim: sub, prefix: ''}}
`,
    );

  test('that are valid for long cause no warning', async () => {
    expect(await check(authentication())).toEqual({
      code: 0,
      lines: ['file: AuthenticationConfiguration is valid'],
      errors: [],
    });
  });

  test.each<[string, () => string]>([
    ['4:66 jwt[0].issuer.certificateAuthority', authentication],
    ['1:1', () => pem],
  ])('that expire cause a warning at %s', async (place, text) => {
    const days = (toMs - clock.now()) / 86_400_000;
    const { code, lines } = await run({ file: text() }, 'check', `--warn-before=${Math.ceil(days + 1) * 24}h`, 'file');
    const separator = place === '1:1' ? '' : ':';
    expect(lines).toEqual([
      `file:${place}${separator} warning: certificate "CN=ca" expires at ${new Date(toMs).toISOString()}`,
    ]);
    expect(code).toBe(0);
  });
});

/** Policies of ABAC are lines of JSON, the other kinds documents of YAML. */
const documentKinds = configurationKinds.filter((kind) => nameOf(kind) !== 'Policy.abac.authorization.kubernetes.io');
const withoutPlaces = ({ lines }: Ran): readonly string[] => lines.map((line) => line.replace(/^file[:\d]*/, 'file'));

test.each(configurationKinds.map((kind) => [nameOf(kind), kind] as const))(
  'unknown fields without a value are problems of a file: %s',
  async (_, { apiVersions: [apiVersion], kind }) => {
    const { lines } = await check(JSON.stringify({ apiVersion, kind, bogus: null }));
    expect(lines).toContainEqual(expect.stringMatching(/^file:\S+ (?:\S+: )?unknown field "bogus"$/));
  },
);

test('a token whose key is written without a space after the colon is a problem, and is not shown', async () => {
  const { code, lines } = await check(kubeconfig.replace('token: hush hush', 'token:hush'));
  expect(lines).toContainEqual('file:4:26 users[0].user: unknown field of 10 letters');
  expect(lines.join()).not.toContain('hush');
  expect(code).toBe(1);
});

describe.each(documentKinds.map((kind) => [nameOf(kind), kind] as const))('document separators: %s', (_, kind) => {
  const text = config(kind.apiVersions[0] as string, kind.kind, '');

  test.each([
    ['before', `---\n${text}`],
    ['after', `${text}---\n`],
    ['before and after', `# all\n--- # one\n${text}...\n---\n# none\n`],
  ])('%s the document change nothing', async (_, separated) => {
    expect(withoutPlaces(await check(separated))).toEqual(withoutPlaces(await check(text)));
  });

  test.each([
    ['two documents', `${text}---\n${text}`],
    ['an empty document and another one', `---\n---\n${text}`],
  ])('a file with %s is rejected for that', async (_, separated) => {
    expect(withoutPlaces(await check(separated))).toContain(
      'file the file holds more than one document: remove all but one',
    );
  });
});

test('--output json prints machine-readable results', async () => {
  const files = { file: config('v1', 'Pod', '') };
  const { code, lines } = await run(files, 'check', '--output=json', 'file');
  expect(JSON.parse(lines.join('\n'))).toEqual({
    files: [{ file: 'file', kind: null }],
    errors: 1,
    warnings: 0,
    problems: [
      {
        severity: 'error',
        file: 'file',
        line: 2,
        column: 7,
        path: 'kind',
        message: expect.stringContaining('no known kind') as never,
      },
    ],
  });
  expect(code).toBe(1);
});

test.each([
  [[], 'config does check, schema and show'],
  [['verify'], 'config does check, schema and show'],
  [['check'], 'name at least one file to check'],
  [['check', '--outptu=json', 'file'], 'unknown flag: --outptu; did you mean --output?'],
  [['schema'], 'name a kind; there are\n  AuthenticationConfiguration'],
  [['schema', 'Pod'], 'unknown kind Pod; there are'],
  [['show'], 'give either --kubeconfig or --server'],
  [['show', '--server=http://a'], '--server: expected a URL with https'],
  [['show', '--kubeconfig=absent'], '--kubeconfig: cannot read absent'],
])('an invalid command line %j exits with 2', async (args, error) => {
  const { code, lines, errors } = await run({}, ...args);
  expect(errors.join('\n')).toContain(error);
  expect([code, lines]).toEqual([2, []]);
});

test.each(configurationKinds.map((kind) => [nameOf(kind)]))('config schema %s prints a schema', async (name) => {
  const { code, lines } = await run({}, 'schema', name);
  const schema = JSON.parse(lines.join('\n')) as { readonly $schema: string };
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  expect(code).toBe(0);
});
