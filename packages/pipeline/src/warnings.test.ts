import { expect, test } from '@jest/globals';
import { warningHeaders } from './warnings.ts';

test('warnings are escaped, and many long ones truncated', () => {
  expect(warningHeaders(new Set(['say "x"\r\nSet-Cookie: a']))).toEqual(['299 - "say \\"x\\"  Set-Cookie: a"']);
  const many = warningHeaders(new Set(Array.from({ length: 100 }, (_, i) => `${i}${'w'.repeat(1000)}`)));
  expect(many.length).toBe(16);
  expect(many.every((value) => value.length < 300)).toBe(true);
});
