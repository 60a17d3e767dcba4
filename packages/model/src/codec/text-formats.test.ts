import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { parseJson } from '../json/json.ts';
import { indentedJson } from '../json/json-indented.ts';
import { endOfToken } from '../json/json-tokens.ts';
import { parseYaml } from './yaml.ts';
import { formatYaml, yamlText } from './yaml-format.ts';

/** JSON is written as YAML or indented token by token, wherever its text is cut. */

const text = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      'a',
      'yes',
      'No',
      'null',
      '~',
      'NULL',
      '12',
      '1e3',
      '0x1f',
      '0o7',
      '07',
      '1_000',
      '1:30',
      '.5',
      '.inf',
      '-',
      '?',
    ],
    ...[
      'a: b',
      'a:b',
      'a #b',
      '#a',
      '- a',
      '-a',
      '? a',
      '[a',
      'a]',
      '{',
      '"q"',
      "it's",
      'a\nb',
      'a\n\nb\n',
      '\n',
      'a \n b',
      'a\n',
    ],
    ...['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123456Z', '2026-01-01', '1e5b0000-0000-4000-8000-000000000000'],
    ...[
      'word '.repeat(30),
      'word '.repeat(12).trim(),
      'x'.repeat(90),
      `${'x'.repeat(40)} ${'y'.repeat(60)}`,
      'é',
      '\u2028',
      '\u0085',
    ],
    ...[
      '\\',
      '\\"',
      '\t',
      'a\tb',
      '\u0007',
      '%a',
      '---',
      '--- a',
      '...',
      '<<',
      '=',
      '!a',
      '&a',
      '*a',
      '|',
      '>',
      '@',
      '`',
    ],
    ...[
      'Successfully assigned default/pod-1 to node (ready)',
      'f:metadata',
      'k:{"uid":"x"}',
      '.',
      '1.5',
      '__proto__',
      'constructor',
    ],
    ...[
      'x'.repeat(1030),
      `a b${' c'.repeat(600)}`,
      'a\u0000b',
      '\ud83d\ude00',
      'a, b',
      'true',
      'e-0',
      'on',
      'y',
      'n',
      'N',
      '12345678-a',
      'Null',
      'nan',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...`ab :-#\n,[]{}"'/.`.split('')), maxLength: 20 }),
  fc.lorem({ maxCount: 30 }),
);
const { value } = fc.letrec<{ value: unknown; map: unknown; list: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e21, 1e-7, 123456789012345),
    tie('map'),
    tie('list'),
  ),
  // JSON.parse of V8 13.6 takes the key "\n" for a backslash where a like object had a backslash for a key before.
  map: fc.dictionary(
    text.filter((key) => key !== '\\'),
    tie('value'),
    { maxKeys: 5 },
  ),
  list: fc.array(tie('value'), { maxLength: 5 }),
}));

/** Cut between tokens. */
function cut(json: string, every: number): string[] {
  const texts: string[] = [];
  let from = 0;
  let tokens = 0;
  for (let at = 0; at < json.length; ) {
    at = endOfToken(json, at);
    if (++tokens % every !== 0 && at < json.length) continue;
    texts.push(json.slice(from, at));
    from = at;
  }
  return texts;
}
const whole = (texts: Iterable<string | undefined>): string => [...texts].join('');

test('YAML is read as the value that was written, and does not depend on where the JSON is cut', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 9 }), (one, every) => {
      const json = JSON.stringify(one);
      const text = whole(yamlText(cut(json, every)));
      expect(text).toBe(formatYaml(one));
      expect(parseYaml(text).value).toEqual(JSON.parse(json));
    }),
    { numRuns: 700, seed: 24 },
  );
});

test('short texts that look like something else are read as the same texts', () => {
  const characters = "eE019-+._xoTZn~yN:# '/=<gb".split('');
  const longer = (texts: readonly string[]): string[] => texts.flatMap((text) => characters.map((one) => text + one));
  const [one, two] = [characters, longer(characters)];
  const all = [...one, ...two, ...longer(two)];
  for (const object of [all, Object.fromEntries(all.map((key) => [key, key]))])
    expect(isDeepStrictEqual(parseYaml(formatYaml(object), 2 ** 20).value, object)).toBe(true);
}, 60_000);

test('indented', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 9 }), (one, every) => {
      const json = JSON.stringify(one);
      expect(whole(indentedJson(cut(json, every)))).toBe(JSON.stringify(JSON.parse(json), null, 2));
    }),
    { numRuns: 700, seed: 24 },
  );
});

describe('numbers', () => {
  test('keep all their digits', () => {
    const json = '{"a":12345678901234567890,"b":[9007199254740993]}';
    expect(whole(yamlText([json]))).toBe('a: 12345678901234567890\nb:\n- 9007199254740993\n');
    expect(whole(yamlText([json]))).toBe(formatYaml(parseJson(json).value));
    expect(whole(indentedJson([json]))).toBe(JSON.stringify(parseJson(json).value, null, 2));
  });
});

test('maps and lists of any depth are written', () => {
  const depth = 5000;
  const json = `${'{"a b":['.repeat(depth)}"c d: e"${']}'.repeat(depth)}`;
  const lengthOf = (steps: Iterable<string | undefined>): number => {
    let characters = 0;
    for (const step of steps) characters += step?.length ?? 0;
    return characters;
  };
  expect(lengthOf(indentedJson([json]))).toBeGreaterThan(depth * depth);
  expect(lengthOf(yamlText([json]))).toBeLessThan(2 * json.length);
});
