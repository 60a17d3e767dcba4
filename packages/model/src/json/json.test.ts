import { expect, test } from '@jest/globals';
import { MalformedTextError, parseJson } from './json.ts';

const value = (text: string): unknown => parseJson(text).value;

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
  expect(() => parseJson(text)).toThrow(MalformedTextError);
});
