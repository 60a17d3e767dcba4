import { expect, test } from '@jest/globals';
import { assert, constantFrom, nat, property, uuid } from 'fast-check';
import { SelectorSyntaxError } from './selector-error.ts';
import { formatShardSelector, matchesShards, parseShardSelector, shardHash } from './shard-selector.ts';

const uid = 'object.metadata.uid';

test.each([
  ['', 'cbf29ce484222325'],
  ['a', 'af63dc4c8601ec8c'],
  ['foobar', '85944171f73967e8'],
])('the hash of %j is the FNV-1a hash', (text, hash) => {
  expect(shardHash(text)).toBe(hash);
});

test('the hash in halves is the hash in one', () => {
  assert(
    property(uuid(), constantFrom('é', '', '€', '\u{1F600}'), nat(999), (uid, letter, number) => {
      const text = `${uid}${letter}${number}`;
      let whole = 0xcbf29ce484222325n;
      for (const byte of Buffer.from(text)) whole = ((whole ^ BigInt(byte)) * 0x100000001b3n) % 2n ** 64n;
      expect(shardHash(text)).toBe(whole.toString(16).padStart(16, '0'));
    }),
    { numRuns: 2_000, seed: 3 },
  );
});

test('consecutive ranges partition the space: every hash is in exactly one', () => {
  const bounds = [
    '0x0',
    '0x1',
    '0x4000000000000000',
    '0xAF63DC4C8601EC8C',
    '0xffffffffffffffff',
    '0x10000000000000000',
  ];
  const shards = bounds.slice(1).map((end, i) => parseShardSelector(`shardRange(${uid}, '${bounds[i]}', '${end}')`));
  for (const hash of ['0000000000000000', '0000000000000001', 'af63dc4c8601ec8b', shardHash('a'), 'ffffffffffffffff'])
    expect(shards.filter((shard) => matchesShards(shard, hash))).toHaveLength(1);
  expect(matchesShards(shards[3] as (typeof shards)[0], shardHash('a'))).toBe(true);
});

test('it is repeated in one form, however it was written', () => {
  const selector = parseShardSelector(
    `shardRange( ${uid} ,'0x0','0xA')||shardRange(${uid}, '0xb', '0x10000000000000000')`,
  );
  expect(formatShardSelector(selector)).toBe(
    `shardRange(${uid}, '0x0000000000000000', '0x000000000000000a') || shardRange(${uid}, '0x000000000000000b', '0x10000000000000000')`,
  );
});

test.each([
  ['parentheses', `((shardRange(${uid}, '0x0', '0x8')) || shardRange(${uid}, '0x8', '0x9'))`],
  ['parentheses around arguments', `shardRange((${uid}), ('0x0'), (('0x8'))) || shardRange(${uid}, '0x8', '0x9')`],
  ['double quotes', `shardRange(${uid}, "0x0", "0x8") || shardRange(${uid}, '0x8', "0x9")`],
  ['raw and long strings', `shardRange(${uid}, r'0x0', R"0x8") || shardRange(${uid}, '''0x8''', """0x9""")`],
  ['blanks', ` shardRange ( object . metadata.uid,\n'0x0','0x8' )||\tshardRange(${uid},'0x8','0x9') `],
  ['comments', `// a\nshardRange(${uid}, '0x0', // b, || '\n '0x8') || shardRange(${uid}, '0x8', '0x9') // c`],
])('%s are those of CEL', (_, text) => {
  expect(parseShardSelector(text)).toEqual(
    parseShardSelector(`shardRange(${uid}, '0x0', '0x8') || shardRange(${uid}, '0x8', '0x9')`),
  );
});

test.each([
  '',
  `(shardRange(${uid}, '0x0', '0x8')`,
  `shardRange(${uid}, '0x0', '0x8'))`,
  `shardRange((${uid}, '0x0', '0x8')`,
  '('.repeat(50_000),
  `shardRange(${uid}, '0x0', "0x8')`,
  `shardRange(${uid}, '\\x30x0', '0x8')`,
  'everything',
  `shardRange(${uid}, '0x0')`,
  `shardRange(${uid}, '0x0', '0x8') &&`,
  `shardRange(${uid}, '0x0', '0x8') || `,
  `shardRange(${uid}, '0', '8')`,
  `shardRange(${uid}, '0x8', '0x0')`,
  `shardRange(${uid}, '0x8', '0x8')`,
  `shardRange(${uid}, '0x0', '0x10000000000000001')`,
  `shardRange(metadata.uid, '0x0', '0x8')`,
  `shardRange(object.metadata.name, '0x0', '0x8')`,
  `shardRange(${uid}, '0x0', '0x8') || shardRange(object.metadata.namespace, '0x8', '0x9')`,
])('%j is refused', (text) => {
  expect(() => parseShardSelector(text)).toThrow(SelectorSyntaxError);
});
