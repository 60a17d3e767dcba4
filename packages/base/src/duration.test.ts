import { expect, test } from '@jest/globals';
import { formatDuration, parseDuration } from './duration.ts';

test.each([
  [0, '0s'],
  [250, '250ms'],
  [1_500, '1.5s'],
  [60_000, '1m0s'],
  [5_400_000, '1h30m0s'],
  [-90_000, '-1m30s'],
])('%d ms are formatted as %s, and parsed back', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
  expect(parseDuration(text)).toBe(ms);
});
