import { expect, test } from '@jest/globals';
import { pemBlocks, readCertificateBlocks } from './pem.ts';

const pem = (label: string, body = 'aGVsbG8='): string => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`;

test('the complete blocks are found, with what is between them left out', () => {
  const key = pem('RSA PRIVATE KEY', 'DEK-Info: AES-128-CBC,00\n\naGVsbG8=');
  const text = `note\n${pem('CERTIFICATE')}\n${key}\n-----BEGIN CERTIFICATE-----\naGVs`;
  expect(pemBlocks(text)).toEqual([
    { label: 'CERTIFICATE', text: pem('CERTIFICATE'), offset: 5 },
    { label: 'RSA PRIVATE KEY', text: key, offset: text.indexOf(key) },
  ]);
});

test.each([
  ['none', '', undefined],
  ['a key only', pem('PRIVATE KEY'), undefined],
  ['one that ends too early', `${pem('CERTIFICATE')}\n-----BEGIN CERTIFICATE-----\naGVs`, undefined],
  ['one beside a key', `${pem('CERTIFICATE')}\n${pem('PRIVATE KEY')}`, [pem('CERTIFICATE')]],
])('certificates: %s', (_, text, found) => {
  expect(readCertificateBlocks(text)).toEqual(found);
});
