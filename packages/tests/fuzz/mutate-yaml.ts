import type { Random } from '@cluster-apiserver/base';
import { yamlLines } from '../test/hostile/bodies.ts';
import { choose } from '../test/hostile/choose.ts';
import { mutateJson } from './mutate-json.ts';

/** Encodes a value as YAML in block or flow style, with random properties, comments and broken lines. */
export function mutateYaml(random: Random, value: unknown): string {
  switch (random.below(8)) {
    case 0: // JSON is YAML; its mutations are covered by mutate-json.ts
      return mutateJson(random, value);
    case 1:
      return repeatToken(random);
    default: {
      const lines = blockOf(random, value, 0);
      for (let changes = random.below(3); changes > 0; changes--)
        lines.splice(random.below(lines.length + 1), 0, choose(random, yamlLines)());
      if (random.below(8) === 0) lines.splice(random.below(lines.length + 1), 0, ...lines);
      return lines.join(choose(random, ['\n', '\n', '\n', '\n', '\r\n', '\r', '\u0085', '\n\n'])).slice(0, textMax);
    }
  }
}

/** Some repetitions would be megabytes; the benchmark of hostile load covers those. */
const textMax = 64 * 1_024;

/** Tokens that made a parser backtrack, or retain memory, for every repetition. */
const repeatedTokens = [
  ...['"" ', '- : ', '!!x &a ', '! ', '&a ', '*a ', '[', '{', '{a: ', '- ', '? ', ': ', '- - ', '"', "'", '|\n', '>\n'],
  ...['#\n', '---\n', '...\n', '%TAG ! x\n', 'a: &a\n', '<<: *a\n', '\t', ' ', '[[],', 'a\n', '!<', '%', ', '],
];
const repeatedBytes = [100, 1_000, 4_000];

function repeatToken(random: Random): string {
  const token = choose(random, repeatedTokens);
  return token.repeat(Math.ceil(choose(random, repeatedBytes) / token.length));
}

const isStructured = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function blockOf(random: Random, value: unknown, indent: number): string[] {
  const space = ' '.repeat(random.below(40) === 0 ? indent + 1 : indent);
  if (!isStructured(value)) return [`${space}${scalar(random, value)}`];
  if (random.below(10) === 0) return [`${space}${mutateJson(random, value, 1)}`];
  const step = choose(random, [1, 2, 2, 2, 4, 9]);
  const mark = random.below(12) === 0 ? `${choose(random, properties)} ` : '';
  return (Array.isArray(value) ? value.map((item) => ['-', item] as const) : Object.entries(value)).flatMap(
    ([key, member]: readonly [string, unknown]) => {
      const head = Array.isArray(value) ? '-' : `${choose(random, keyStyles)(key)}:`;
      return isStructured(member)
        ? [`${space}${head} ${mark}`.trimEnd(), ...blockOf(random, member, indent + step)]
        : [`${space}${head} ${mark}${scalar(random, member)}`];
    },
  );
}

const properties = ['&a', '*a', '!', '!!str', '!!map', '!!seq', '!!binary', '!x', '!<x>', '&a &b', '!!int', '& '];

const keyStyles: readonly ((key: string) => string)[] = [
  ...Array.from({ length: 8 }, () => (key: string) => key),
  (key) => JSON.stringify(key),
  (key) => `'${key}'`,
  (key) => `? ${key}\n`,
  (key) => `!!str ${key}`,
  (key) => `&k ${key}`,
  () => '<<',
  () => '__proto__',
];

const scalars = [
  ...['~', 'null', 'Null', 'yes', 'NO', 'on', 'y', '0x1F', '0o17', '017', '1_000', '1e3', '.inf', '-.INF', '.nan'],
  ...['12:30:45', '2026-01-01', '2026-01-01T00:00:00Z', '=', '<<', '!!binary aGk=', '"\\x41\\u0042"', "'it''s'"],
  ...[
    '|\n    text',
    '>-\n    text',
    '|9\n x',
    '*a',
    '&a x',
    '!!set {a, b}',
    '!!omap [a: b]',
    '? x',
    '9007199254740993',
  ],
  ...['[a, b', '{a: b', 'a: b', '"unfinished', "'", '@', '`', '%', '\u{feff}', '\u2028', '...', '---', '- x', ''],
];

const scalar = (random: Random, value: unknown): string => {
  if (random.below(10) === 0) return choose(random, scalars);
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  return typeof value === 'string' && /^[a-z][\w-]*$/i.test(value) && random.below(2) === 0 ? value : text;
};
