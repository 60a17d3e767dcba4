import { runSync } from '@cluster-apiserver/base';
import { expect, test } from '@jest/globals';
import { array, assert, dictionary, jsonValue, property, string } from 'fast-check';
import { parseInSteps } from './parse-in-steps.ts';
import { jsonTexts, joinTexts } from './json-texts.ts';
import { rawNumber } from './raw-number.ts';

const written = (value: unknown): string => runSync(joinTexts(jsonTexts(value)));

const large = [
  Array.from({ length: 8_000 }, (_, at) => at),
  Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`k"${at}`, at % 3 === 0 ? undefined : 'ä'])),
  Array.from({ length: 40 }, () => ({ a: Array.from({ length: 300 }, () => ({ b: null })), c: [undefined, {}, []] })),
  { numbers: Array.from({ length: 2_400 }, () => rawNumber('12345678901234567890')) },
];

test('large values are written in pieces as JSON.stringify writes them', () => {
  for (const value of large) {
    expect([...jsonTexts(value)].length).toBeGreaterThan(1);
    expect(written(value)).toBe(JSON.stringify(value));
  }
});

test('all values are written, and read again in steps, as JSON.stringify writes them', () => {
  const any = jsonValue({ noUnicodeString: false });
  assert(
    property(array(dictionary(string(), any), { maxLength: 20 }), (values) => {
      const many = Array.from({ length: 30 }, () => values);
      expect(written(many)).toBe(JSON.stringify(many));
      expect(JSON.stringify(runSync(parseInSteps(JSON.stringify(values))))).toBe(JSON.stringify(values));
    }),
    { seed: 1 },
  );
});
