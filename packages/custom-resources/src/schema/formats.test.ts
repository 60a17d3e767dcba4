import { expect, test } from '@jest/globals';
import { findFormat } from './formats.ts';

const matches = (format: string, text: string): boolean | undefined => findFormat('string', format)?.matches?.(text);

// As kube-apiserver 1.36.2 answered.
test.each([
  [
    'hostname',
    ['a', 'abc', 'a-bc', 'a-', 'abc.def', 'abc-def.ghi', 'ä.de'],
    ['', 'abc-def', '2020-01-01', 'a.b', '-a', 'a_b', 'xn--a'],
  ],
  [
    'mac',
    ['00:11:22:33:44:55', '999999999999', '4111111111111111', '0011.2233.4455'],
    ['', '99999999999', '9999999999999', '00:11:22:33:44', 'gggggggggggg'],
  ],
])('%s accepts and refuses what kube-apiserver does', (format, accepted, refused) => {
  expect(accepted.filter((text) => !matches(format, text))).toEqual([]);
  expect(refused.filter((text) => matches(format, text))).toEqual([]);
});
