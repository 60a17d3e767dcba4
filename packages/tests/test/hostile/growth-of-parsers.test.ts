/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  type Case,
  account,
  list,
  mapOf,
  model,
  nested,
  numbers,
  ownedEntries,
  schema,
  secrets,
  testGrowth,
} from './growth.ts';

const json: readonly Case[] = [
  ['many members', (n) => parse(`{${list(n, (i) => `"k${i}":${i}`)}}`)],
  ['many duplicates', (n) => parse(`{${list(n, () => '"k":0')}}`)],
  ['many escaped keys', (n) => parse(`{${list(n, (i) => `"\\u0061${i}":0`)}}`)],
  ['backslashes', (n) => parse(`"${'\\\\'.repeat(n)}\\""`)],
  ['escaped quotes', (n) => parse(`"${'\\"'.repeat(n)}"`)],
  ['backslashes before texts without', (n) => parse(`["\\\\",${list(n, () => '"a"')}]`)],
  ['empty objects', (n) => parse(`[${list(n, () => '{}')}]`)],
  ['exact numbers', (n) => parse(`[${list(n, () => '1.50')}]`)],
  ['lone surrogates', (n) => parse(`[${list(n, () => '"\\ud800"')}]`)],
  ['nesting', (n) => parse('['.repeat(n) + ']'.repeat(n))],
  ['nesting without an end', (n) => parse('{"a":'.repeat(n))],
  ['duplicates far down', (n) => parse(`${'{"a":'.repeat(90)}{${list(n, () => '"k":0')}}${'}'.repeat(90)}`)],
];
function parse(text: string): () => unknown {
  return () => model.parseJson(text);
}

const yamlTokens: readonly string[] = [
  ...['"" ', "'' ", '- : ', '!!x &a ', '! ', '&a ', '*a ', '? ', ': ', '- ', '[', '{', '{a: ', '[a: b, ', '[],', ','],
  ...['\n', ' ', '\t', '#\n', ' #', '|\n', '>\n', '-\n', '---\n', '--- a\n', '...\n', '%Y\n', '%TAG ! x\n', '"\\x41" '],
  ...['k: v\n', 'k:\n', '? x\n', '? x\n: y\n', 'x ', 'x\n', '&a x\n', '- a: [b, {c: d}]\n', '- [a]: b\n', '- !t x\n'],
  ...['a: &a\n', '- "a\n  b"\n', '- |\n  a\n', "- 'it''s'\n", '- 0x1F\n', '- 1_000\n', '- <<: {a: b}\n', '\u00e9', '"'],
];
const yaml: readonly Case[] = [
  ...yamlTokens.map((token): Case => [JSON.stringify(token), (n) => parseYaml(token.repeat(n))]),
  ['flow', (n) => parseYaml(`[${'[a, {b: c}],'.repeat(n)}]`)],
  ['nested flow, again and again', (n) => parseYaml(`[${`${'['.repeat(40)}${']'.repeat(40)},`.repeat(n / 20)}]`)],
  ['nested pairs', (n) => parseYaml(`[${`${'['.repeat(40)}${']: x'.repeat(40)},`.repeat(n / 20)}]`)],
  ['nested keys', (n) => parseYaml(`[${`${'{'.repeat(40)}${'}: x'.repeat(40)},`.repeat(n / 20)}]`)],
  ['aliases', (n) => parseYaml(`a: &a x\nb: [${list(n, () => '*a')}]`)],
  ['merges', (n) => parseYaml(`a: &a {x: 1}\n${'b: {<<: *a}\n'.repeat(n)}`)],
  ['merges in one map', (n) => parseYaml(`a: &a {x: 1}\nb:\n${'  <<: *a\n'.repeat(n)}`)],
  ['anchors', (n) => parseYaml(list(n, (i) => `&a${i} x`))],
  ['a long text in lines', (n) => parseYaml(`"${'a\n'.repeat(n)}"`)],
  ['a long block', (n) => parseYaml(`|\n${' a\n\n'.repeat(n)}`)],
  [
    'tags declared',
    (n) =>
      parseYaml(
        `${numbers(n)
          .map((i) => `%TAG !${i}! x\n`)
          .join('')}---\n`,
      ),
  ],
];
function parseYaml(text: string): () => unknown {
  return () => model.parseYaml(text, 2 ** 24);
}

const decoders: readonly Case[] = [
  [
    'unknown fields',
    (n) =>
      decode(
        mapOf(
          n,
          (i) => `x${i}`,
          () => 0,
        ),
      ),
  ],
  [
    'labels',
    (n) =>
      decode({
        metadata: {
          labels: mapOf(
            n,
            (i) => `k${n - i}`,
            () => '',
          ),
        },
      }),
  ],
  ['entries of a list', (n) => decode({ secrets: secrets(n) })],
  ['unknown fields in entries', (n) => decode({ secrets: numbers(n).map(() => ({ x: 1 })) })],
  ['managed fields', (n) => decode({ metadata: { managedFields: ownedEntries(n) } })],
];
function decode(value: object): () => unknown {
  return () => model.decode(schema, value, () => {});
}

const protobuf: readonly Case[] = [
  ['secrets', (n) => readBack({ secrets: secrets(n) })],
  [
    'annotations',
    (n) =>
      readBack({
        metadata: {
          annotations: mapOf(
            n,
            (i) => `k${i}`,
            () => 'v',
          ),
        },
      }),
  ],
  ['managed fields', (n) => readBack({ metadata: { managedFields: ownedEntries(n) } })],
  ['one large set of fields', (n) => readBack({ metadata: { managedFields: ownedEntries(1, n) } })],
];
function readBack(value: object): () => unknown {
  const object = model.decode(schema, { kind: 'ServiceAccount', apiVersion: 'v1', ...value }, () => {});
  const bytes = model.encodeProtobuf(schema, object as { kind: string; apiVersion: string });
  return () => model.parseProtobuf(bytes, () => schema);
}

const serialisers: readonly Case[] = [
  ...[
    ['secrets', (n: number) => account({}, { secrets: secrets(n) })],
    [
      'annotations',
      (n: number) =>
        account({
          annotations: mapOf(
            n,
            (i) => `k${i}`,
            () => 'a\nb: "c"\n',
          ),
        }),
    ],
    ['managed fields', (n: number) => account({ managedFields: ownedEntries(n) })],
    ['fields nested deeply', (n: number) => account({ managedFields: nested(n) })],
    ['a long text', (n: number) => account({ annotations: { a: ' a\u2028'.repeat(n) } })],
  ].flatMap(([what, make]): Case[] => {
    const object = make as (n: number) => KubeObject;
    return [
      [`YAML of ${what as string}`, (n) => withObject(object(n), (value) => model.formatYaml(value))],
      [`stored form of ${what as string}`, (n) => withObject(object(n), (value) => model.encodeStored(value))],
      [
        `protobuf of ${what as string}`,
        (n) =>
          withObject(object(n), (value) =>
            model.encodeProtobuf(schema, value as unknown as { kind: string; apiVersion: string }),
          ),
      ],
    ];
  }),
];
function withObject(object: KubeObject, write: (object: KubeObject) => unknown): () => unknown {
  return () => write(object);
}

testGrowth({ JSON: json, YAML: yaml, decoders, protobuf, serialisers });
