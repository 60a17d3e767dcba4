import type { Random } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { encodeProtobuf, type TypeNames } from '@cluster-apiserver/model/codec';
import { decode, deleteOptions } from '@cluster-apiserver/model/schema';
import { randomObject } from '../../../model/test/random-object.ts';
import { bytesOf, choose, chooseSome } from './choose.ts';
import { services } from '../../../kinds/test/services.ts';

/** Bodies that resemble valid ones but contain hostile parts. */
export interface Body {
  readonly contentType: string;
  readonly bytes: Buffer;
}

export function hostileBody(random: Random, name: string): Body {
  if (random.below(8) === 0) return { contentType: protobufType, bytes: protobufBytes(random, name) };
  const yaml = random.below(3) === 0;
  const text = yaml ? yamlText(random, name) : jsonText(random, name);
  const contentType = random.below(6) === 0 ? choose(random, wrongTypes) : choose(random, yaml ? yamlTypes : jsonTypes);
  return { contentType, bytes: withBrokenBytes(random, Buffer.from(text)) };
}

export const protobufType = 'application/vnd.kubernetes.protobuf';
const served = kinds(services);

/** A protobuf message with mutated bytes, perhaps truncated, or random bytes. */
export function protobufBytes(random: Random, name: string): Buffer {
  if (random.below(8) === 0) return Buffer.concat([Buffer.from('k8s\0'), bytesOf(random, random.below(200))]);
  const { schema, kind, apiVersion } = choose(random, [...served, deletion]);
  const value = { ...randomObject(random, schema), kind, apiVersion, metadata: { name } };
  const bytes = encodeProtobuf(schema, decode(schema, value, () => {}) as unknown as TypeNames);
  for (let left = random.below(4); left > 0; left--) bytes[random.below(bytes.length)] = random.below(256);
  return random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

const deletion = { schema: deleteOptions, kind: 'DeleteOptions', apiVersion: 'v1' };

const jsonTypes = [
  ...['application/json', 'application/json', 'application/json; charset=utf-8', 'application/merge-patch+json'],
  ...['application/strategic-merge-patch+json', 'application/json-patch+json'],
];
const yamlTypes = [
  'application/yaml',
  'application/yaml',
  'application/yaml; charset=latin1',
  'application/apply-patch+yaml',
];
const wrongTypes = [
  ...[
    '',
    ' ',
    '*/*',
    'text/plain',
    'application/xml',
    'application/vnd.kubernetes.protobuf',
    'application/cbor',
    'json',
    ';',
    'application/json;',
  ],
  ...[
    'application/json; charset="',
    'APPLICATION/JSON',
    'application/json, application/yaml',
    'multipart/form-data; boundary=x',
    'application/__proto__',
  ],
];

const templates = (name: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, labels: { a: 'b' }, annotations: { c: 'd' } },
    secrets: [{ name: 's' }],
    imagePullSecrets: [{ name: 'p' }],
  },
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      generateName: 'made-',
      finalizers: ['a.b/c'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { namespace: 'hostile', kind: 'Pod' },
    reason: 'R',
    count: 3,
    firstTimestamp: '2026-01-01T00:00:00Z',
    type: 'Normal',
  },
  {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    eventTime: '2026-01-01T00:00:00.000000Z',
    series: { count: 2, lastObservedTime: null },
    action: 'a',
    reportingComponent: 'a/b',
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['events'], verbs: ['get'] }],
    aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] },
  },
  {
    metadata: {
      name,
      resourceVersion: '1',
      uid: 'u',
      managedFields: [
        { manager: 'm', operation: 'Apply', fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': { 'f:labels': {} } } },
      ],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u', resourceVersion: '1' },
    propagationPolicy: 'Background',
    dryRun: ['All'],
  },
  [
    { op: 'add', path: '/metadata/labels/a', value: 'b' },
    { op: 'test', path: '/kind', value: 'X' },
    { op: 'move', from: '/metadata', path: '/metadata/labels' },
  ],
  {
    $patch: 'replace',
    $retainKeys: ['metadata'],
    metadata: { labels: { a: null }, '$deleteFromPrimitiveList/finalizers': ['x'] },
    secrets: [{ $patch: 'delete', name: 's' }],
  },
];

/** Replacements for any token of a JSON text. */
export const tokens: readonly (() => string)[] = [
  ...[
    'null',
    'true',
    '0',
    '-0',
    '-1',
    '1e400',
    '-1e400',
    '9007199254740993',
    '123456789012345678901234567890',
    '1.5',
    '0.1e-999',
    '2147483648',
  ],
  ...[
    'NaN',
    'Infinity',
    '0x10',
    '01',
    '+1',
    '.5',
    '1.',
    'undefined',
    '',
    '{}',
    '[]',
    '[null]',
    '{"":""}',
    "'a'",
    '{a:1}',
    '[,]',
    '/* */1',
  ],
  ...[
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"hasOwnProperty"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\x"',
    '"\n"',
    '"\\u00"',
  ],
  ...[
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"a":1,"a":2}',
    '"../../x"',
    '"a/b"',
    '"%2f"',
    '"."',
    '".."',
  ],
  ...[
    '"2026-13-45T99:99:99Z"',
    '"9999999999-01-01T00:00:00Z"',
    '"All"',
    '"/metadata/annotations/-"',
    '"/~2"',
    '"/secrets/99999999999999999999"',
    '"\u202e\ufeff"',
  ],
]
  .map((token) => () => token)
  .concat([
    () => '['.repeat(20_000),
    () => `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
    () => `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
    () => `"${'x'.repeat(20_000)}"`,
    () => `"${'é'.repeat(300)}"`,
    () => '9'.repeat(5_000),
    () => `[${new Array(2_000).fill('{"name":"a"}').join(',')}]`,
    () => `{${Array.from({ length: 2_000 }, (_, at) => `"k${at}":"v"`).join(',')}}`,
  ]);

function jsonText(random: Random, name: string): string {
  const parts =
    JSON.stringify(choose(random, templates(name))).match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^[\]{}:,"]+/g) ?? [];
  for (let changes = random.below(4); changes > 0; changes -= 1)
    parts[random.below(parts.length)] = choose(random, tokens)();
  return `${choose(random, prefixes)}${parts.join('')}${choose(random, suffixes)}`;
}

const prefixes = ['', '', '', '', '', ' \n\t', '\ufeff', '\0', '#\n', ")]}'\n"];
const suffixes = ['', '', '', '', '', '\n', ' x', '{}', '\0', ','];

const yamlText = (random: Random, name: string): string => {
  const lines = [
    `apiVersion: v1`,
    `kind: ${choose(random, ['ServiceAccount', 'Event', 'X'])}`,
    'metadata:',
    `  name: ${name}`,
  ];
  for (const line of chooseSome(random, yamlLines, 4)) lines.splice(random.below(lines.length + 1), 0, line());
  return lines.join(choose(random, ['\n', '\n', '\n', '\r\n', '\r', '\n---\n']));
};

const laughs = Array.from(
  { length: 12 },
  (_, at) => `l${at + 1}: &l${at + 1} [${new Array(10).fill(`*l${at}`).join(', ')}]`,
).join('\n');

export const yamlLines: readonly (() => string)[] = [
  ...[
    '  labels: {a: b',
    '  annotations: {a: [}',
    '\tkey: tab',
    '%YAML 9.9',
    '---',
    '...',
    '--- !!map',
    '? [complex, key]\n: value',
    '? {a: b}',
    '<<: *nowhere',
    '*nowhere : x',
  ],
  ...[
    'secrets: &a [*a]',
    'secrets: &a\n- name: x\n- *a',
    '<<: {a: b}',
    '<<: [{a: b}, {a: c}]',
    'x: !!binary "===="',
    'x: !!js/function "function(){}"',
    'x: !!python/object:os.system []',
  ],
  ...[
    'x: !<tag:yaml.org,2002:float> "a"',
    'x: !!int "9"',
    'x: 0o17',
    'x: 0b2',
    'x: .inf',
    'x: .nan',
    'x: 1:60:60',
    'x: 2026-02-30',
    '__proto__: {polluted: true}',
    'constructor: {prototype: {a: b}}',
  ],
  ...[
    'x: |\n bad\nindent',
    'x: >9\n a',
    'x: "\\q"',
    "x: 'a",
    'x: "\\ud800"',
    'x: @reserved',
    'x: `tick`',
    'a: b: c: d',
    '- x',
    ': : :',
    '"a" "b"',
    'x: *',
    '& : x',
    '!: x',
    'x: \0',
    '# only a comment',
    '\u2028x: y',
    '- - - - x',
  ],
]
  .map((line) => () => line)
  .concat([
    () => `l0: &l0 lol\n${laughs}`,
    () => `x: ${'['.repeat(10_000)}`,
    () => `x: ${'{a: '.repeat(3_000)}`,
    () => Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    () => Array.from({ length: 1_000 }, (_, at) => `k${at}: &a${at} v`).join('\n'),
    () => `x: &big ${'y'.repeat(5_000)}\nsecrets: [${new Array(500).fill('{name: *big}').join(', ')}]`,
    () => `${'- '.repeat(3_000)}x`,
    () => `${'? '.repeat(2_000)}x`,
    () => `x: ${'!'.repeat(5_000)}`,
    () => `x: "${'\\u00e9'.repeat(3_000)}"`,
  ]);

/** Makes some texts invalid UTF-8. */
export function withBrokenBytes(random: Random, bytes: Buffer): Buffer {
  if (random.below(8) !== 0 || bytes.length === 0) return bytes;
  const broken = choose(random, [
    Buffer.from([0xff]),
    Buffer.from([0xc0, 0x80]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xf8, 0x88]),
    bytesOf(random, 3),
  ]);
  const at = random.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), broken, bytes.subarray(at)]);
}
