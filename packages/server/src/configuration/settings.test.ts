import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { FlagError, flagGroups, parseFlags } from '../flags/flags.ts';
import type { Flag } from '../flags/flag.ts';
import { loadSettings } from './settings.ts';

const files: Readonly<Record<string, string | Error>> = {
  missing: new Error("ENOENT: no such file or directory, open 'missing'"),
  directory: new Error('EISDIR: illegal operation on a directory, read'),
  empty: '',
  garbage: '\0zork: [',
  json: `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`,
  large: `{"kind":"Zork","a":[${'0,'.repeat(30_000)}0]}`,
  other: 'apiVersion: v1\nkind: Zork\n',
  key: generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ format: 'pem', type: 'pkcs8' })
    .toString(),
};
const environment = {
  read: async (path: string) => {
    const content = files[path] ?? new Error(`ENOENT: no such file or directory, open '${path}'`);
    if (content instanceof Error) throw content;
    return Buffer.from(content);
  },
  list: async () => [],
  mode: async () => 0o600,
  write: async () => {},
};

async function faultsOf(...args: readonly string[]): Promise<readonly string[]> {
  try {
    await loadSettings(parseFlags(args), environment);
    return [];
  } catch (error) {
    if (error instanceof FlagError) return error.faults;
    throw error;
  }
}

/** Bad values by the placeholder of a flag, which is its type. */
const byType: Readonly<Record<string, readonly string[]>> = {
  int: ['', 'zork', '1.5', '-1', '1e3', '9'.repeat(30)],
  float: ['', 'zork', '-1', '1e400', '9'.repeat(30)],
  duration: ['', 'zork', '5', '-1s', '2562048h', '9'.repeat(400).concat('h')],
  ip: ['', 'zork', 'localhost', '1.2.3.4:80', '[::1]'],
  switch: ['zork', 'True ', '1'],
  enumerator: ['', 'zork', 'JSON'],
};

/** Bad values of flags whose type says nothing. */
const byName: Readonly<Record<string, readonly string[]>> = {
  'etcd-servers': [
    ...[
      '',
      ',',
      'zork',
      'http://',
      'http://a:70000',
      'http://a:0',
      'ftp://a:1',
      'unix:///a',
      'a:b',
      'http://a:1/x',
      ':1',
    ],
    ...['http://127.0.0.1:2379,zork', 'http://a b:1', 'http://a:1?x', '127.0.0.1'],
  ],
  'etcd-servers-overrides': [
    'zork',
    '/events',
    '/events#',
    '/events#zork',
    '/zork#http://a:1',
    'apps/zork#http://a:1',
    '/events#http://a:1;',
    '/events#http://a:1,/events#http://b:1',
  ],
  'cors-allowed-origins': ['(', 'a'],
  controllers: ['zork', '-zork'],
  'service-account-issuer': ['https://a'],
  'service-account-key-file': ['missing', 'empty'],
  'service-account-jwks-uri': ['zork'],
  'oidc-issuer-url': ['zork', 'http://a', 'https://u:p@a'],
  'oidc-client-id': ['a'],
  'oidc-username-claim': ['sub', 'zork'],
  'oidc-username-prefix': ['zork'],
  'oidc-groups-claim': ['zork'],
  'oidc-groups-prefix': ['zork'],
  'oidc-required-claim': ['zork', 'a=b'],
  'oidc-signing-algs': ['zork', 'none', 'HS256'],
  'authorization-mode': ['zork', 'Node', 'RBAC,RBAC', 'ABAC', 'Webhook'],
  'authorization-modes': ['zork'],
  'authorization-always-allow-paths': ['*a', '/a*b'],
  'enable-admission-plugins': ['zork', 'EventRateLimit'],
  'disable-admission-plugins': ['zork'],
  'admission-webhook-services': ['zork', 'a=b', 'a/b=', 'a/b=c/d'],
  'feature-gates': ['zork', 'zork=true', 'AllAlpha=zork', 'AllAlpha='],
  'encryption-provider-config': [''],
  'system-namespaces': ['A b', '-', 'a.b'],
};

/** Flags that take every text, or whose values only the system can judge. */
const anyText = {
  'etcd-prefix': 'any prefix of keys',
  'cert-dir': 'written when it is used',
  'audit-log-path': 'opened when it is used',
  'requestheader-allowed-names': 'names of certificates',
  'requestheader-username-headers': 'names of headers',
  'requestheader-uid-headers': 'names of headers',
  'requestheader-group-headers': 'names of headers',
  'requestheader-extra-headers-prefix': 'names of headers',
  'api-audiences': 'any texts',
};

function badValuesOf(name: string, { placeholder }: Flag<unknown>): readonly string[] {
  const own = byName[name] ?? [];
  if (placeholder === undefined) return [...own, ...(byType['switch'] ?? [])];
  if (placeholder === 'path' && !Object.hasOwn(anyText, name)) return [...own, ...Object.keys(files)];
  const isEnumerator = placeholder === 'audit.k8s.io/v1' || placeholder.includes('|');
  return [...own, ...(byType[isEnumerator ? 'enumerator' : placeholder] ?? [])];
}

/** Flags that only mean something beside another one. */
const companions: Readonly<Record<string, readonly string[]>> = {
  'authorization-policy-file': ['--authorization-mode=ABAC'],
  'authorization-webhook-config-file': ['--authorization-mode=Webhook'],
  'service-account-signing-key-file': ['--service-account-issuer=https://a'],
  'service-account-key-file': ['--service-account-issuer=https://a', '--service-account-signing-key-file=key'],
  'service-account-jwks-uri': ['--service-account-issuer=https://a', '--service-account-signing-key-file=key'],
  'oidc-ca-file': ['--oidc-issuer-url=https://a', '--oidc-client-id=a'],
  'oidc-issuer-url': ['--oidc-client-id=a'],
  'oidc-signing-algs': ['--oidc-issuer-url=https://a', '--oidc-client-id=a'],
};
/** What is a good file for these. */
const goodFiles: Readonly<Record<string, readonly string[]>> = {
  'service-account-signing-key-file': ['key'],
  'tls-private-key-file': ['key'],
  'cluster-signing-key-file': ['key'],
  'etcd-keyfile': ['key'],
  // A file without tokens authenticates nobody.
  'token-auth-file': ['empty'],
};

const all = flagGroups.flatMap(([, flags]) => Object.entries(flags));

describe.each(all)('--%s', (name, flag) => {
  const bad = badValuesOf(name, flag).filter((value) => !goodFiles[name]?.includes(value));
  if (bad.length === 0) {
    test('takes every text, as `anyText` says, or `byName` has bad values of it', () => {
      expect(Object.keys(anyText)).toContain(name);
    });
    return;
  }
  test.each(bad)('rejects %j in one line that names it', async (value) => {
    const faults = await faultsOf(...(companions[name] ?? []), `--${name}=${value}`);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults[0]).toContain(`--${name}`);
    for (const fault of faults) expect(fault).not.toMatch(/\n\s+at |TypeError|InvariantError/);
  });
});

test('the faults of several flags and files are reported together', async () => {
  const faults = await faultsOf(
    '--encryption-provider-config=missing',
    '--audit-policy-file=other',
    '--tls-cert-file=garbage',
    '--tls-private-key-file=garbage',
    '--client-ca-file=empty',
    '--controllers=zork',
  );
  for (const name of [
    'encryption-provider-config',
    'audit-policy-file',
    'tls-cert-file',
    'tls-private-key-file',
    'client-ca-file',
    'controllers',
  ])
    expect(faults.filter((fault) => fault.startsWith(`--${name}: `)).length).toBeGreaterThan(0);
});

test.each([
  ['127.0.0.1:2379', 'http://127.0.0.1:2379'],
  ['etcd.example:2379', 'http://etcd.example:2379'],
  ['[::1]:2379', 'http://[::1]:2379'],
  ['https://a', 'https://a'],
])('the member %s is %s, as for clients of etcd', (text, url) => {
  expect(parseFlags([`--etcd-servers=${text}`])['etcd-servers']).toEqual([url]);
});

test.each([
  [['--authorization-config=a', '--authorization-mode=RBAC'], '--authorization-mode exclude each other'],
  [['--authentication-config=a', '--oidc-username-claim=sub'], '--oidc-username-claim exclude each other'],
  [['--encryption-provider-config-automatic-reload'], 'needs --encryption-provider-config'],
])('flags conflict also with their default values: %j', async (args, fault) => {
  expect((await faultsOf(...args)).join('\n')).toContain(fault);
});

test('a wrong flag of each part of the server is reported, once', async () => {
  expect(
    await faultsOf(
      '--audit-log-truncate-max-batch-size=1',
      '--authorization-mode=Node',
      '--controllers=zork',
      '--cluster-signing-key-file=zork',
      '--cors-allowed-origins=(',
      '--etcd-certfile=zork',
      '--feature-gates=zork=true',
      '--service-account-jwks-uri=https://a',
      '--system-namespaces=A',
    ),
  ).toEqual([
    '--etcd-certfile and --etcd-keyfile go together',
    '--cors-allowed-origins: "(" is no regular expression',
    expect.stringContaining('--service-account-jwks-uri means nothing without --service-account-issuer'),
    expect.stringContaining('--authorization-mode: there are no nodes here'),
    expect.stringContaining('--system-namespaces: "A" is no name of a namespace'),
    '--audit-log-truncate-max-batch-size must be at least --audit-log-truncate-max-event-size',
    expect.stringContaining('--controllers: there is no "zork"'),
    '--cluster-signing-cert-file and --cluster-signing-key-file go together',
    expect.stringContaining('--feature-gates: '),
  ]);
});
