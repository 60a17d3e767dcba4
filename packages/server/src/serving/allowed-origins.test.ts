import { expect, test } from '@jest/globals';
import { compileAllowedOrigins } from './allowed-origins.ts';

test.each([
  ['//board\\.example(:|$)', 'https://board.example', true],
  ['//board\\.example(:|$)', 'http://board.example:8080', true],
  ['//board\\.example(:|$)', 'https://board.example.evil.example', false],
  ['^https://[a-z]+\\.example$', 'https://any.example', true],
  ['^https://[a-z]+\\.example$', 'http://any.example', false],
])('%s for %s', (pattern, origin, allowed) => {
  expect(compileAllowedOrigins(['//never$', pattern], [])(origin)).toBe(allowed);
});

test('without the flag no origin is allowed', () => {
  expect(compileAllowedOrigins([], [])('https://board.example')).toBe(false);
});

test.each(['board', '//board', 'board$', '//(board$'])('rejects the unanchored pattern %s', (pattern) => {
  const problems: string[] = [];
  compileAllowedOrigins(['//fine$', pattern], problems);
  expect(problems).toEqual([expect.stringMatching(/^--cors-allowed-origins: /)]);
  expect(problems[0]).toContain(JSON.stringify(pattern));
});

test('long origins are matched in bounded time', () => {
  const allowed = compileAllowedOrigins(['^(a+)+$', '^(a|aa)*$'], []);
  expect(allowed(`${'a'.repeat(250)}!`)).toBe(false);
  expect(allowed('a'.repeat(301))).toBe(false);
});
