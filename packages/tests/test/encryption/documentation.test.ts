/** The examples of docs/encryption.md work. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { loadEncryptionConfiguration } from '@cluster-apiserver/config';

const page = fs.readFileSync(
  path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'encryption.md'),
  'utf8',
);
const files = [...page.matchAll(/^( *)```yaml\n([^]*?)^ *```/gm)].map(([, indent = '', text = '']) =>
  text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
);

test('the configurations of the page on encryption are valid', () => {
  expect(files.map((text) => loadEncryptionConfiguration(text).lists.map(({ providers }) => providers))).toMatchObject([
    [[{ type: 'aesgcm', keys: [{ name: 'key-2026-11' }] }, { type: 'identity' }]],
    [[{ type: 'kms', version: 'v2', name: 'vault', socket: '/run/kms/vault.sock' }, { type: 'identity' }]],
  ]);
});

test('the page on encryption lists each provider', () => {
  for (const provider of ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'])
    expect(page).toMatch(new RegExp(`^\\| \`${provider}\``, 'm'));
});
