import { runSync } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, property } from 'fast-check';
import { MalformedTextError, parseJson, parseJsonSteps } from './json.ts';
import { parseInSteps } from './parse-in-steps.ts';

/** White space that makes any text a large one. */
const large = ' '.repeat(128 * 1024);
const parsers = [
  ['small', (text: string) => parseJson(text)],
  ['large', (text: string) => runSync(parseJsonSteps(`${large}${text}`))],
] as const;

describe.each(parsers)('a %s text', (_, parse) => {
  const value = (text: string): unknown => parse(text).value;

  test('numbers that a double cannot hold keep their digits', () => {
    expect(JSON.stringify(value('{"a":9007199254740993,"b":1e400,"c":3.0,"d":7}'))).toBe(
      '{"a":9007199254740993,"b":1e400,"c":3.0,"d":7}',
    );
  });

  test('a lone surrogate becomes the replacement character, in keys too, and a pair stays', () => {
    expect(value('{"\\ud800":"a\\ud800b","p":"\\ud83d\\ude00"}')).toEqual({ '\ufffd': 'a\ufffdb', p: '😀' });
  });

  test('__proto__ is plain data', () => {
    const parsed = value('{"__proto__":{"polluted":true}}') as object;
    expect(Object.keys(parsed)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.each([
    '',
    '{',
    '{"a":1} tail',
    '{"a":1}{"b":2}',
    '\ufeff{}',
    "{'a':1}",
    '{"a":01}',
    '{"a":1,}',
    '['.repeat(20_000),
    '{"a":1.5,"b":'.repeat(9_000),
  ])('%.20s is no JSON', (text) => {
    expect(() => parse(text)).toThrow(MalformedTextError);
  });
});

test('what is read in steps is what V8 reads, and what V8 refuses is refused', () => {
  const tokens = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b\\u0041"',
    '1',
    '-',
    '0',
    '.5',
    'e2',
    'true',
    'nul',
    ' ',
    '\n',
    '\u0001',
    '"',
  ];
  const outcomeOf = (read: () => unknown): string => {
    try {
      return JSON.stringify(JSON.parse(JSON.stringify(read()))); // numbers as doubles
    } catch (error) {
      if (error instanceof SyntaxError) return 'refused';
      throw error;
    }
  };
  assert(
    property(array(constantFrom(...tokens), { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      expect(outcomeOf(() => runSync(parseInSteps(text)))).toBe(outcomeOf(() => JSON.parse(text)));
    }),
    { numRuns: 2_000, seed: 1 },
  );
});

test('a large text is read in many small steps', () => {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at })));
  let steps = 0;
  for (const task = parseJsonSteps(text, { valuesMax: Number.POSITIVE_INFINITY, nestingMax: 10 }); !task.next().done; )
    steps++;
  expect(steps).toBeGreaterThan(20);
});
