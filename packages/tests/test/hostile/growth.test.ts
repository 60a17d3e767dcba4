/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Kind, KubeObject } from '@cluster-apiserver/model';
import { StepCounter } from './step-count.ts';

/**
 * All processing of client input takes time proportional to its size. Each case runs on its worst input and on one
 * eight times as large, and counts steps, because time depends on the load of the machine.
 */

// Opened before the code is loaded: V8 does not count blocks of code that it compiled earlier.
const counter = new StepCounter(/\/packages\/(?!tests\/test\/hostile\/step-count)|\/js-yaml\/|\/protobufjs\//);
const model = await import('@cluster-apiserver/model');
const cel = await import('@cluster-apiserver/expressions');
const { runSync } = await import('@cluster-apiserver/base');
const { kinds } = await import('@cluster-apiserver/kinds');

afterAll(() => counter.close());

const smallest = 400;
const factor = 8;
/** Eight times the steps, with room for the logarithm of sorting; quadratic growth takes 64 times. */
const growthMax = 12;

const leastSteps = 10;

/** Inputs are created outside of the measurement. */
type Case = readonly [what: string, prepare: (n: number) => () => unknown];

function growth(prepare: Case[1], from = smallest): number {
  const work = [from, factor * from].map(prepare) as [() => unknown, () => unknown];
  runIgnoringErrors(work[0]); // warm-up of caches
  const [small, large] = work.map((run) => counter.steps(() => runIgnoringErrors(run))) as [number, number];
  // Fewer steps mean that the code under test was not counted.
  expect(small).toBeGreaterThan(leastSteps);
  return large / small;
}

/** An input that is rejected has been read just as far. */
function runIgnoringErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

const serviceAccount = kinds({ eventLifetimeSeconds: 3600, serviceAccountTokens: undefined }).find(
  ({ kind }) => kind === 'ServiceAccount',
) as Kind;
const { schema } = serviceAccount;

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const list = (n: number, item: (i: number) => string): string => numbers(n).map(item).join(',');
const mapOf = <T>(n: number, key: (i: number) => string, value: (i: number) => T): Record<string, T> =>
  Object.fromEntries(numbers(n).map((i) => [key(i), value(i)]));

const account = (metadata: object, more: object = {}): KubeObject => ({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'b', uid: 'u', ...metadata },
  ...more,
});
const secrets = (n: number, from = 0): object[] => numbers(n).map((i) => ({ name: `s${from + i}` }));
const empty = account({ uid: undefined });
const writer = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };
const applier = { ...writer, force: true };
const ownedEntries = (n: number, perEntry = 1): object[] =>
  numbers(n).map((i) => ({
    manager: `m${i}`,
    operation: i % 2 ? 'Apply' : 'Update',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:secrets': mapOf(
        perEntry,
        (k) => `k:{"name":"s${i + k}"}`,
        () => ({ '.': {} }),
      ),
    },
  }));
const apply = (live: KubeObject, configuration: object, force = true): unknown =>
  runSync(
    model.applyAsKubectlDid(
      schema,
      live,
      empty,
      model.readApplied(schema, configuration, () => {}),
      { ...applier, force },
    ),
  );

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

const patches: readonly Case[] = [
  [
    'merge',
    (n) => () =>
      model.applyMergePatch(
        mapOf(
          n,
          (i) => `a${i}`,
          () => 1,
        ),
        mapOf(
          n,
          (i) => `a${2 * i}`,
          () => 2,
        ),
      ),
  ],
  ['strategic: entries that are there', (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n) })],
  ['strategic: entries that are new', (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n, n) })],
  ['strategic: into nothing', (n) => strategic({ secrets: [] }, { secrets: secrets(n) })],
  [
    'strategic: entries to delete',
    (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n).map((entry) => ({ ...entry, $patch: 'delete' })) }),
  ],
  [
    'strategic: $setElementOrder',
    (n) => strategic({ secrets: secrets(n) }, { '$setElementOrder/secrets': secrets(n).toReversed() }),
  ],
  [
    'strategic: $deleteFromPrimitiveList',
    (n) =>
      strategic(
        { metadata: { finalizers: numbers(n).map((i) => `a/f${i}`) } },
        { metadata: { '$deleteFromPrimitiveList/finalizers': numbers(n).map((i) => `a/f${n - i}`) } },
      ),
  ],
  [
    'strategic: values of a set',
    (n) =>
      strategic(
        { metadata: { finalizers: numbers(n).map((i) => `a/f${i}`) } },
        { metadata: { finalizers: numbers(n).map((i) => `b/f${i}`) } },
      ),
  ],
  [
    'strategic: $retainKeys',
    (n) =>
      strategic(
        {
          metadata: {
            annotations: mapOf(
              n,
              (i) => `k${i}`,
              () => 'v',
            ),
          },
        },
        {
          metadata: {
            annotations: {
              $retainKeys: numbers(n).map((i) => `k${i}`),
              ...mapOf(
                n,
                (i) => `k${i}`,
                () => 'w',
              ),
            },
          },
        },
      ),
  ],
  ['JSON: additions to a map', (n) => operations(n, (i) => ({ op: 'add', path: `/k${i}`, value: 1 }))],
  ['JSON: additions to the end of a list', (n) => operations(n, () => ({ op: 'add', path: '/list/-', value: 1 }))],
  [
    'JSON: additions to the start of a list',
    (n) => operations(n, () => ({ op: 'add', path: '/list/0', value: 1 }), 40),
  ],
  ['JSON: removals from the start of a list', (n) => operations(n, () => ({ op: 'remove', path: '/list/0' }), 40)],
  ['JSON: replacements', (n) => operations(n, (i) => ({ op: 'replace', path: `/list/${i}`, value: 2 }))],
  ['JSON: moves', (n) => operations(n, (i) => ({ op: 'move', from: `/map/k${i}`, path: `/map/m${i}` }))],
  ['JSON: doubling copies', (n) => operations(n, () => ({ op: 'copy', from: '/list', path: '/list/-' }), 12)],
  ['JSON: deep paths', (n) => operations(n, () => ({ op: 'add', path: '/a'.repeat(n), value: 1 }), 20)],
  ['JSON: tests', (n) => operations(n, () => ({ op: 'test', path: '/map', value: {} }), 40)],
  ['JSON: unknown members', (n) => operations(n, (i) => ({ op: 'test', path: '/map', [`x${i}`]: 0 }))],
];
function strategic(target: object, patch: object): () => unknown {
  return () => model.applyStrategicMergePatch(schema, target, patch);
}
/** A patch of `count` operations: their number is limited because each may take time proportional to the document. */
function operations(n: number, operation: (i: number) => object, count = n): () => unknown {
  const document = {
    list: numbers(n),
    map: mapOf(
      n,
      (i) => `k${i}`,
      () => 1,
    ),
  };
  const value = numbers(count).map(operation);
  return () => runSync(model.applyJsonPatch(document, model.readJsonPatch(value)));
}

const kubectlAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';
const fieldSets: readonly Case[] = [
  [
    'of a create',
    (n) => () => runSync(model.managedFieldsAfterUpdate(schema, empty, account({}, { secrets: secrets(n) }), writer)),
  ],
  [
    'of an update that changes all',
    (n) => updated(account({ managedFields: ownedEntries(1, n) }, { secrets: secrets(n) }), { secrets: secrets(n, n) }),
  ],
  [
    'of an object with many owners',
    (n) => updated(account({ managedFields: ownedEntries(n) }, { secrets: secrets(n) }), {}),
  ],
  [
    'with many owners that the client sends',
    (n) => updated(account({}, {}), { metadata: { managedFields: ownedEntries(n) } }),
  ],
  [
    'with many fields that the client sends',
    (n) => updated(account({}), { metadata: { managedFields: ownedEntries(1, n) } }),
  ],
  [
    'of labels',
    (n) =>
      updated(account({ managedFields: ownedEntries(1) }), {
        metadata: {
          labels: mapOf(
            n,
            (i) => `k${i}`,
            () => 'v',
          ),
        },
      }),
  ],
  [
    'of an apply',
    (n) => () => apply(account({}, { secrets: secrets(n) }), account({ uid: undefined }, { secrets: secrets(n, n) })),
  ],
  [
    'of an apply over many owners',
    (n) => () =>
      apply(
        account({ managedFields: ownedEntries(n) }, { secrets: secrets(n) }),
        account({ uid: undefined }, { secrets: secrets(n).map((entry) => ({ ...entry, namespace: 'x' })) }),
      ),
  ],
  [
    'of an apply that conflicts with many owners',
    (n) => () => {
      const live = account(
        { managedFields: ownedEntries(n, 2) },
        { secrets: secrets(n).map((s) => ({ ...s, namespace: 'y' })) },
      );
      try {
        apply(live, account({ uid: undefined }, { secrets: secrets(n).map((s) => ({ ...s, namespace: 'x' })) }), false);
      } catch (error) {
        if (error instanceof model.ApplyConflictError) model.conflictCauses(error.conflicts);
      }
    },
  ],
  [
    'of an apply as kubectl did it',
    (n) => () => {
      const configuration = account({ uid: undefined }, { secrets: secrets(n) });
      const annotations = { [kubectlAnnotation]: JSON.stringify(configuration) };
      const live = account({ annotations, managedFields: ownedEntries(1, n) }, { secrets: secrets(n) });
      const applied = model.readApplied(schema, configuration, () => {});
      runSync(model.applyAsKubectlDid(schema, live, empty, applied, { ...applier, manager: 'kubectl' }));
    },
  ],
  ['compared', (n) => () => model.sameOwnership(ownedEntries(n), ownedEntries(n))],
  ['nested deeply', (n) => updated(account({}), { metadata: { managedFields: nested(n) } })],
];
function updated(live: KubeObject, change: { readonly metadata?: object; readonly secrets?: object[] }): () => unknown {
  const next = { ...live, ...change, metadata: { ...live.metadata, ...change.metadata } };
  return () => runSync(model.managedFieldsAfterUpdate(schema, live, next, writer));
}
function nested(n: number): object[] {
  return [{ ...ownedEntries(1)[0], fieldsV1: JSON.parse(`${'{"f:a":'.repeat(n)}{}${'}'.repeat(n)}`) as object }];
}

const selectors: readonly Case[] = [
  ...[
    ['exists', (i: number) => `a${i}`],
    ['absent', (i: number) => `!a${i}`],
    ['one key', () => 'a'],
    ['values of one key', (i: number) => `a!=v${i}`],
    ['bounds of one key', (i: number) => `a>${i}`],
    ['equal', (i: number) => `a${i}=b`],
  ].map(
    ([what, term]): Case => [
      `labels: ${what as string}`,
      (n) => () => {
        const matches = model.labelMatcher(model.parseLabelSelector(list(n, term as (i: number) => string)));
        for (let i = 0; i < 50; i++) matches({ a: '7', [`a${i}`]: 'b' });
      },
    ],
  ),
  ['labels: a long set', (n) => () => model.parseLabelSelector(`a in (${list(n, (i) => `v${i}`)})`)],
  ['labels: blanks', (n) => () => model.parseLabelSelector(' '.repeat(n))],
  ['labels: symbols', (n) => () => model.parseLabelSelector('!'.repeat(n))],
  ['labels: a long key', (n) => () => model.parseLabelSelector('a/'.repeat(n))],
  [
    'fields',
    (n) => () => {
      const matches = model.fieldMatcher(
        model.parseFieldSelector(
          list(n, (i) => `metadata.name!=a${i}`),
          serviceAccount,
        ),
      );
      for (let i = 0; i < 50; i++) matches({ name: 'x', namespace: 'b', fields: undefined });
    },
  ],
  ['fields: commas', (n) => () => model.parseFieldSelector(','.repeat(n), serviceAccount)],
  ['fields: escapes', (n) => () => model.parseFieldSelector(`metadata.name=${'\\,'.repeat(n)}`, serviceAccount)],
  ['fields: a term without an operator', (n) => () => model.parseFieldSelector('\\='.repeat(n), serviceAccount)],
  ['shards', (n) => () => model.parseShardSelector("shardRange(object.metadata.uid, '0x0', '0x1') || ".repeat(n))],
  ['shards: blanks', (n) => () => model.parseShardSelector(`shardRange(${' '.repeat(n)}`)],
];

const validators: readonly Case[] = [
  [
    'bad labels',
    (n) =>
      validate({
        labels: mapOf(
          n,
          (i) => `-${i}`,
          () => '-',
        ),
      }),
  ],
  [
    'annotations',
    (n) =>
      validate({
        annotations: mapOf(
          n,
          (i) => `a${i}`,
          () => 'v',
        ),
      }),
  ],
  [
    'bad annotations',
    (n) =>
      validate({
        annotations: mapOf(
          n,
          (i) => `-${i}`,
          () => 'v',
        ),
      }),
  ],
  ['equal finalizers', (n) => validate({ finalizers: numbers(n).map(() => 'x') })],
  ['both finalizers', (n) => validate({ finalizers: [...numbers(n).map(() => 'orphan'), 'foregroundDeletion'] })],
  [
    'owners that control',
    (n) => validate({ ownerReferences: numbers(n).map((i) => ({ uid: `${i}`, kind: 'K', controller: true })) }),
  ],
  ['bad entries of managedFields', (n) => validate({ managedFields: numbers(n).map(() => ({})) })],
  ['a long name', (n) => validate({ name: 'a.'.repeat(n) })],
  ['a long name with a bad end', (n) => validate({ name: `${'a-'.repeat(n)}!` })],
  ['a long key of a label', (n) => validate({ labels: { [`${'a.'.repeat(n)}/b`]: 'c' } })],
  [
    'finalizers of an object that is being deleted',
    (n) => () =>
      model.validateObjectMetaUpdate(
        account({ deletionTimestamp: 'x', finalizers: numbers(n).map((i) => `a/${i}`) }),
        account({ deletionTimestamp: 'x', finalizers: numbers(n).map((i) => `b/${i}`) }),
      ),
  ],
  [
    'the answer about many errors',
    (n) => () =>
      model.invalid(
        { group: '', kind: 'K' },
        'n',
        numbers(n).map((i) => model.invalidValue(`f[${i}]`, 'x', 'is wrong')),
      ),
  ],
];
function validate(metadata: object): () => unknown {
  return () => model.validateObjectMeta(account(metadata).metadata, serviceAccount);
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

/**
 * Rules over claims that a user of the identity provider controls. `distinct` is limited only by the cost budget, see
 * 0012.
 */
const expressions: readonly Case[] = [
  ['reading the claims', (n) => evaluate('true', { list: numbers(n), map: mapOf(n, (i) => `k${i}`, String) })],
  ...[
    'ip(claims.text)',
    "isCIDR(claims.text + '/')",
    'isQuantity(claims.digits)',
    "isSemver('1.2.3-' + claims.dots)",
    "url('/' + claims.text).getEscapedPath()",
    "url('/' + claims.wide).getEscapedPath()",
    "url('https://' + claims.dots + '/').getHostname()",
    "url('/?' + claims.query).getQuery()",
    'format.qualifiedName().validate(claims.text)',
    'format.dns1123Subdomain().validate(claims.dots)',
    'format.byte().validate(claims.text)',
    'format.datetime().validate(claims.digits)',
    "'%s %x'.format([dyn(claims.list), dyn(claims.text)])",
    'claims.percents.format([])',
    'claims.list.sort()',
    'claims.list.sortBy(e, size(e))',
    'claims.list.reverse().slice(1, 2)',
    'claims.list.map(e, [e]).flatten()',
    'lists.range(size(claims.list)).sum()',
    "claims.text.findAll('a*?')",
    "claims.text.matches('^(a+)+$')",
    'claims.list.transformList(i, e, e + string(i)).join()',
    "claims[claims.text + '__dot__']",
  ].map(
    (text): Case => [
      text,
      (n) =>
        evaluate(text, {
          text: 'a'.repeat(n),
          wide: 'ä'.repeat(n),
          dots: 'a.'.repeat(n),
          digits: '9'.repeat(n),
          percents: '%%'.repeat(n),
          query: 'a=b&'.repeat(n),
          list: numbers(n).map((i) => `${(i * 7919) % n}`),
        }),
    ],
  ),
];
function evaluate(text: string, claims: object): () => unknown {
  const compiled = cel.compile(text, { claims: cel.types.map(cel.types.string, cel.types.dyn) });
  if ('faults' in compiled) throw new Error(compiled.faults.join());
  const { expression } = compiled;
  return () => expression.evaluate(new Map([['claims', cel.fromJson(claims)]]), Number.POSITIVE_INFINITY);
}

const all: Readonly<Record<string, readonly Case[]>> = {
  JSON: json,
  YAML: yaml,
  decoders,
  protobuf,
  patches,
  'field sets': fieldSets,
  selectors,
  validators,
  serialisers,
  expressions,
};

describe.each(Object.keys(all))('%s', (group) => {
  test.each(all[group] as Case[])('%s: takes time proportional to the input', (_, prepare) => {
    expect(growth(prepare)).toBeLessThan(growthMax);
  });
});

/** Quadratic growth takes very long with the sizes of the other cases, and is visible with fewer elements. */
const smallestSquare = 100;

describe('the counter detects', () => {
  test.each<Case>([
    [
      'a linear search for each entry, as strategic merge once did',
      (n) => {
        const [before, change] = [secrets(n), secrets(n)] as { name: string }[][];
        return () => change?.map(({ name }) => before?.findIndex((entry) => JSON.stringify(entry.name) === name));
      },
    ],
    [
      'a list that is searched with includes',
      (n) => {
        const terms = numbers(n).map(String);
        return () => terms.filter((term) => !terms.includes(`${term}x`));
      },
    ],
    [
      'sets that are copied for each addition',
      (n) => () => numbers(n).reduce((sum, value) => new Set([...sum, value]), new Set<number>()),
    ],
  ])('%s', (_, prepare) => {
    expect(growth(prepare, smallestSquare)).toBeGreaterThan(4 * growthMax);
  });
});
