import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { type EncryptionConfiguration, loadEncryptionConfiguration, providersFor } from './encryption-configuration.ts';
import { ConfigurationError } from './findings.ts';

const secret = (bytes: number): string => Buffer.alloc(bytes, 'secret').toString('base64');
const good = {
  apiVersion: 'apiserver.config.platform.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['events'], providers: [{ identity: {} }] }],
};
const load = (part: object): EncryptionConfiguration =>
  loadEncryptionConfiguration(JSON.stringify({ ...good, ...part }));
const withProviders = (...providers: object[]): object => ({ resources: [{ resources: ['events'], providers }] });
const withResources = (...lists: string[][]): object => ({
  resources: lists.map((resources) => ({ resources, providers: [{ identity: {} }] })),
});
const kms = (fields: object): object =>
  withProviders({ kms: { apiVersion: 'v2', name: 'vault', endpoint: 'unix:///run/kms.sock', ...fields } });
const problemsOf = (act: () => unknown): readonly string[] => {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
};

test('reads a complete configuration from YAML', () => {
  const { lists } = loadEncryptionConfiguration(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [serviceaccounts, widgets.example.com]
    providers:
      - aesgcm: { keys: [{ name: a, secret: ${secret(16)} }, { name: b, secret: ${secret(32)} }] }
      - kms: { name: old, endpoint: 'unix:///@abstract' }
      - kms: { apiVersion: v2, name: new, endpoint: 'unix:///run/kms.sock', timeout: 500ms }
      - identity: {}
  - resources: ['*.*']
    providers:
      - secretbox: { keys: [{ name: a, secret: ${secret(32)} }] }
`);
  expect(lists[0]?.resources).toEqual([
    { resource: 'serviceaccounts', group: '' },
    { resource: 'widgets', group: 'example.com' },
  ]);
  expect(lists[0]?.providers).toEqual([
    { type: 'aesgcm', keys: [expect.objectContaining({ name: 'a' }), expect.objectContaining({ name: 'b' })] },
    { type: 'kms', version: 'v1', name: 'old', socket: '@abstract', timeoutMs: 3_000, cacheSize: 1_000 },
    { type: 'kms', version: 'v2', name: 'new', socket: '/run/kms.sock', timeoutMs: 500, cacheSize: 1_000 },
    { type: 'identity' },
  ]);
  expect(lists[1]?.resources).toEqual([{ resource: undefined, group: undefined }]);
});

describe('the first list that names a resource applies:', () => {
  const configuration = load({
    resources: [['events'], ['*.'], ['*.example.com']].map((resources, at) => ({
      resources,
      providers: [{ secretbox: { keys: [{ name: `list-${at}`, secret: secret(32) }] } }],
    })),
  });
  test.each([
    ['events', '', 'list-0'],
    ['serviceaccounts', '', 'list-1'],
    ['widgets', 'example.com', 'list-2'],
    ['widgets', 'example.org', undefined],
  ])('%s of the group "%s" are found in %s', (resource, group, name) => {
    const [provider] = providersFor(configuration, resource, group) ?? [];
    expect(provider && 'keys' in provider ? provider.keys[0]?.name : undefined).toBe(name);
  });
});

test.each<[string, string[][], string[]]>([
  ['a wildcard behind what it covers', [['events', 'serviceaccounts'], ['*.'], ['a.b'], ['*.b'], ['*.*']], []],
  ['one resource twice', [['events', 'events']], ['resources[0].resources[1]: overlaps']],
  ['a resource and its group', [['events', '*.']], ['resources[0].resources[1]: overlaps']],
  ['everything and something', [['*.*', 'events']], ['resources[0].resources[1]: overlaps']],
  [
    'a resource behind its group',
    [['*.'], ['events']],
    ['resources[1].resources[0]: has no effect: resources[0].resources[0]'],
  ],
  ['a group behind everything', [['*.*'], ['*.b']], ['resources[1].resources[0]: has no effect']],
  ['the same twice', [['events'], ['events']], ['resources[1].resources[0]: has no effect']],
  ['everything twice', [['*.*'], ['*.*']], ['resources[1].resources[0]: has no effect']],
  ['a star alone', [['*']], ['resources[0].resources[0]: a star alone']],
  ['one resource of all groups', [['foo.*']], ['resources[0].resources[0]: one resource of all groups']],
  ['capitals', [['Events']], ['resources[0].resources[0]: resources are written in small letters']],
  [
    'events by their other group',
    [['events.events.k8s.io'], ['*.events.k8s.io']],
    ['resources[0].resources[0]: events of every', 'resources[1].resources[0]: events of every'],
  ],
  ['no name', [['']], ['resources[0].resources[0]: name a resource']],
  ['a path', [['a/b']], ['resources[0].resources[0]: expected resource']],
  ['no resources', [[]], ['resources[0].resources: name at least a resource']],
])('resources: %s', (_, lists, problems) => {
  const found = problemsOf(() => load(withResources(...lists)));
  expect(found).toEqual(problems.map((problem) => expect.stringContaining(problem)));
});

const keys = (...written: object[]): object => withProviders({ aesgcm: { keys: written } });
const at = 'resources[0].providers[0]';
test.each<[string, object, string[]]>([
  ['an empty provider', withProviders({}), [`${at}: set exactly one of`]],
  [
    'two in one',
    withProviders({ aesgcm: { keys: [{ name: 'a', secret: secret(32) }] }, identity: {} }),
    [`${at}: set exactly one of`],
  ],
  ['no providers', withProviders(), ['resources[0].providers: name at least a provider']],
  ['an unknown provider', withProviders({ rot13: {} }), [`${at}: unknown field "rot13"`, `${at}: set exactly one of`]],
  ['no keys', withProviders({ aescbc: {} }), [`${at}.aescbc.keys: name at least a key`]],
  ['a key without a name', keys({ secret: secret(32) }), [`${at}.aesgcm.keys[0].name: name the key`]],
  [
    'a name with a colon',
    keys({ name: 'a:b', secret: secret(32) }),
    [`${at}.aesgcm.keys[0].name: a name must not contain colons`],
  ],
  [
    'a name twice',
    keys({ name: 'a', secret: secret(32) }, { name: 'a', secret: secret(16) }),
    [`${at}.aesgcm.keys[1].name: another key`],
  ],
  ['no secret', keys({ name: 'a' }), [`${at}.aesgcm.keys[0].secret: give the key in base64`]],
  [
    'a secret that is no base64',
    keys({ name: 'a', secret: `${secret(32)}!` }),
    [`${at}.aesgcm.keys[0].secret: expected bytes in base64, got another string`],
  ],
  [
    'a number as a secret',
    keys({ name: 'a', secret: 12345678 }),
    [`${at}.aesgcm.keys[0].secret: expected bytes in base64, got a number`],
  ],
  [
    '20 bytes for AES-GCM',
    keys({ name: 'a', secret: secret(20) }),
    [`${at}.aesgcm.keys[0].secret: the key has 20 bytes and must have 16, 24 or 32`],
  ],
  [
    '16 bytes for AES-CBC',
    withProviders({ aescbc: { keys: [{ name: 'a', secret: secret(16) }] } }),
    [`${at}.aescbc.keys[0].secret: the key has 16 bytes and must have 32`],
  ],
  [
    '24 bytes for secretbox',
    withProviders({ secretbox: { keys: [{ name: 'a', secret: secret(24) }] } }),
    [`${at}.secretbox.keys[0].secret: the key has 24 bytes`],
  ],
  ['a field of identity', withProviders({ identity: { x: 1 } }), [`${at}.identity: unknown field "x"`]],
  ['a plugin without a name', kms({ name: '' }), [`${at}.kms.name: name the plugin`]],
  ['a plugin with a colon', kms({ name: 'a:b' }), [`${at}.kms.name: a name must not contain colons`]],
  [
    'a version that there is not',
    kms({ apiVersion: 'v3' }),
    [`${at}.kms.apiVersion: Unsupported value: "v3": supported values: "v1", "v2"`],
  ],
  ['a cache of version 2', kms({ cachesize: 5 }), [`${at}.kms.cachesize: is only for v1`]],
  ['a cache of nothing', kms({ apiVersion: 'v1', cachesize: 0 }), [`${at}.kms.cachesize: must be positive`]],
  ['no cache', kms({ apiVersion: 'v1', cachesize: -1 }), []],
  [
    'a cache of one and a half',
    kms({ apiVersion: 'v1', cachesize: 1.5 }),
    [`${at}.kms.cachesize: expected a whole number without a fraction or an exponent, got 1.5`],
  ],
  [
    'a cache without end',
    kms({ apiVersion: 'v1', cachesize: 1e12 }),
    [`${at}.kms.cachesize: 1000000000000 does not fit into int32`],
  ],
  [
    'a cache in letters',
    kms({ apiVersion: 'v1', cachesize: '5' }),
    [`${at}.kms.cachesize: expected a whole number, got a string`],
  ],
  ['a time of nothing', kms({ timeout: '0s' }), [`${at}.kms.timeout: must be positive`]],
  ['a negative time', kms({ timeout: '-1s' }), [`${at}.kms.timeout: must be positive`]],
  ['no time', kms({ timeout: 'soon' }), [`${at}.kms.timeout: expected a duration`]],
  ['another scheme', kms({ endpoint: 'tcp://localhost:1' }), [`${at}.kms.endpoint: expected a Unix socket`]],
  ['no socket', kms({ endpoint: undefined }), [`${at}.kms.endpoint: name the socket`]],
  [
    'one plugin of version 1 twice',
    withProviders(...Array.from({ length: 2 }, () => ({ kms: { name: 'vault', endpoint: 'unix:///s' } }))),
    ['resources[0].providers[1].kms.name: another plugin'],
  ],
  [
    'one plugin twice',
    withProviders(
      ...Array.from({ length: 2 }, () => ({ kms: { apiVersion: 'v2', name: 'vault', endpoint: 'unix:///s' } })),
    ),
    ['resources[0].providers[1].kms.name: another plugin'],
  ],
])('providers: %s', (_, part, problems) => {
  expect(problemsOf(() => load(part))).toEqual(problems.map((problem) => expect.stringContaining(problem)));
});

test('a secret may be written in lines', () => {
  const lines = secret(32).replace(/.{10}/g, '$&\n');
  const [list] = load(keys({ name: 'a', secret: lines })).lists;
  expect(list?.providers).toMatchObject([{ keys: [{ secret: { symmetricKeySize: 32 } }] }]);
});

test.each([
  ['with a line before and behind', `---\n${JSON.stringify(good)}\n---\n`],
  ['with an end', `${JSON.stringify(good)}\n...\n`],
])('a file %s has one document', (_, text) => {
  expect(problemsOf(() => loadEncryptionConfiguration(text))).toEqual([]);
});

const moreDocuments = 'the file holds more than one document: remove all but one';

test.each<[string, string, string]>([
  ['an empty file', '', 'the file is empty'],
  ['another kind', JSON.stringify({ ...good, kind: 'Pod' }), 'kind: expected EncryptionConfiguration'],
  [
    'another version',
    JSON.stringify({ ...good, apiVersion: 'v1' }),
    'apiVersion: expected apiserver.config.platform.io/v1 or apiserver.config.k8s.io/v1',
  ],
  ['an unknown field', JSON.stringify({ ...good, resource: [] }), 'unknown field "resource"'],
  ['a field twice', 'kind: A\nkind: B', 'line 2: the key "kind" is already set in this map'],
  ['a field twice, in JSON', '{"kind":"A","kind":"B"}', 'line 1: the key "kind" is already set in this map'],
  ['two documents', `${JSON.stringify(good)}\n---\n${JSON.stringify(good)}`, moreDocuments],
  ['a document behind an empty one', `---\n---\n${JSON.stringify(good)}`, moreDocuments],
  ['a text behind the document', `kind: A\n---\nB`, moreDocuments],
  [
    'a number of many digits for a name',
    JSON.stringify(withProviders({ aesgcm: { keys: [{ secret: 'x' }] } })).replace('"x"', '9'.repeat(44)),
    'resources[0].providers[0].aesgcm.keys[0].secret: expected bytes in base64, got a number',
  ],
  ['no resources', JSON.stringify({ ...good, resources: [] }), 'resources: name at least a list of resources'],
  ['a text', 'hello', 'expected an object, got a string'],
])('rejects %s', (_, text, problem) => {
  expect(problemsOf(() => loadEncryptionConfiguration(text))).toContainEqual(problem);
});

test('reports all problems at once, and never prints a key', () => {
  const hidden = secret(20);
  const part = {
    extra: true,
    resources: [
      { resources: ['*'], providers: [{ aesgcm: { keys: [{ name: '', secret: hidden }] } }] },
      { resources: [], providers: [{ [hidden.repeat(2)]: {} }, hidden, { aescbc: hidden, identity: {} }], [hidden]: 1 },
    ],
  };
  const problems = problemsOf(() => load(part));
  expect(problems.length).toBeGreaterThan(7);
  const duplicates = `kind: A\nsecret:${hidden}: 1\nsecret:${hidden}: 2`;
  expect(problemsOf(() => loadEncryptionConfiguration(duplicates))).toContain(
    'line 3: the key is already set in this map',
  );
  for (const broken of [`secret: "${hidden}`, `a: b: ${hidden}`, `{"secret": ${hidden}}`, `- *${hidden}`])
    problems.concat(problemsOf(() => loadEncryptionConfiguration(broken))).forEach((problem) => {
      expect(problem).not.toContain(hidden);
    });
  const read = load(keys({ name: 'a', secret: secret(32) }));
  expect(inspect(read, { depth: 9 })).not.toContain(secret(32).slice(0, 10));
  expect(JSON.stringify(read)).not.toContain(secret(32).slice(0, 10));
});
