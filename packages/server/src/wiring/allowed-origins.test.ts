import { expect, test } from '@jest/globals';
import { FlagError } from '../flags.ts';
import { allowedOrigins } from './allowed-origins.ts';

test.each([
  ['//board\\.example(:|$)', 'https://board.example', true],
  ['//board\\.example(:|$)', 'http://board.example:8080', true],
  ['//board\\.example(:|$)', 'https://board.example.evil.example', false],
  ['^https://[a-z]+\\.example$', 'https://any.example', true],
  ['^https://[a-z]+\\.example$', 'http://any.example', false],
])('%s for %s', (pattern, origin, allowed) => {
  expect(allowedOrigins(['//never$', pattern])(origin)).toBe(allowed);
});

test('without the flag nobody is allowed', () => {
  expect(allowedOrigins([])('https://board.example')).toBe(false);
});

test.each(['board', '//board', 'board$', '//(board$'])('%s is no pattern for a host', (pattern) => {
  expect(() => allowedOrigins(['//fine$', pattern])).toThrow(FlagError);
  expect(() => allowedOrigins([pattern])).toThrow(/^--cors-allowed-origins: /);
});

test('no origin takes long', () => {
  const allowed = allowedOrigins(['^(a+)+$', '^(a|aa)*$']);
  expect(allowed(`${'a'.repeat(250)}!`)).toBe(false);
  expect(allowed('a'.repeat(301))).toBe(false);
});
