/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import { type Case, cel, list, mapOf, model, numbers, serviceAccount, testGrowth } from './growth.ts';

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

/** Within the longest expression: 32,768 characters for the larger of the two inputs. */
const compilations: readonly Case[] = [
  ...[
    ['lists of unknown types', () => '[]'],
    ['lists that tell an earlier type', (i: number) => (i % 2 ? '[]' : '[[]]')],
    ['maps of unknown types', () => '{}'],
    ['sums of unknown types', () => '[]+[]'],
    ['undeclared names', () => 'x'],
    ['overloads', () => '1+1'],
    ['conversions', () => 'int("1")'],
    ['selections', () => 'c.a.b'],
    ['patterns', (i: number) => `"a".matches("a*${i % 7}")`, 100],
    ['large patterns', () => '"a".matches("((a{20}){20})")', 100],
  ].map(
    ([what, element, from = 400]): Case => [
      what as string,
      (n) => compile(`[${list((n * (from as number)) / 400, element as (i: number) => string)}]`),
    ],
  ),
  ['formats', (n) => compile(`"${'%s'.repeat(n)}".format([${list(n, () => '1')}])`)],
  ['conjunctions', (n) => compile(`true${'&&true'.repeat(n)}`)],
  [
    'variables far out',
    (n) => compile(`${nested100((i) => `[1].map(x${i},`)}[${list(n, () => 'x0')}]${')'.repeat(100)}`),
  ],
  ['lines', (n) => compile(`${'\n'.repeat(n)}[${list(n, () => 'x')}]`)],
];
const nested100 = (level: (i: number) => string): string => numbers(100).map(level).join('');
function compile(text: string): () => unknown {
  return () => cel.compile(text, { c: cel.types.dyn });
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

testGrowth({ selectors, compilations, expressions });
