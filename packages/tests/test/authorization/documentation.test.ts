/** The examples of docs/authorization.md work. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import {
  authorizerTypes,
  loadAbacPolicies,
  loadAuthorizationConfiguration,
  loadKubeconfig,
} from '@cluster-apiserver/config';
import { parseFlags } from '@cluster-apiserver/server';

const page = fs.readFileSync(
  path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'authorization.md'),
  'utf8',
);
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, text = '']) => text);

test('the configuration on the page is valid', async () => {
  const [configuration = '', connection = '', ...others] = blocks('yaml');
  expect(others).toEqual([]);
  const files: Readonly<Record<string, string>> = {
    '/etc/apiserver/teams.yaml': connection.replaceAll(/.*(certificate|client-key).*\n/g, '').replace(/user:\n$/m, ''),
  };
  const readFile = async (file: string): Promise<Buffer> => Buffer.from(files[file] ?? '');
  const { authorizers } = await loadAuthorizationConfiguration(configuration, { readFile, policyFileGiven: false });
  expect(authorizers).toMatchObject([
    { name: 'teams.example.com', webhook: { timeoutMs: 3_000, matchConditions: [{}, {}] } },
    { type: 'RBAC' },
  ]);
  expect(loadKubeconfig(connection)).toMatchObject({ clientKey: { file: 'apiserver.key' } });
});

test('the policies on the page are valid', () => {
  expect(blocks('json').flatMap(loadAbacPolicies)).toMatchObject([
    { user: 'ann' },
    { group: 'devs' },
    { nonResourcePath: '/version', readonly: true },
  ]);
});

test('the page lists all authorizer types and flags, with their defaults', () => {
  for (const type of authorizerTypes) expect(page).toContain(`| \`${type}\` |`);
  const flags = Object.keys(parseFlags([])).filter((name) => name.startsWith('authorization-'));
  expect(flags.length).toBeGreaterThan(6);
  for (const name of flags) expect(page).toContain(`\`--${name}\``);
});
