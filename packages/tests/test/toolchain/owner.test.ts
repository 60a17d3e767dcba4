/** A copy of the repository needs no edits, but for the teams of its owner. */
import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');

test('no file but CODEOWNERS and its description names the owner of the repository', () => {
  const named = String.raw`@cluster-apiserver/(maintainers|security)|(github\.com|ghcr\.io)/(OWNER|cluster-apiserver)`;
  const found = execFileSync('git', ['grep', '--files-with-matches', '--extended-regexp', named, '--', ':!*.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(found.trim().split('\n')).toEqual(['.github/CODEOWNERS', 'CONTRIBUTING.md']);
});
