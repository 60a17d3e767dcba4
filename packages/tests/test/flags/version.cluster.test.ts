import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const program = path.resolve(import.meta.dirname, '..', '..', '..', 'server', 'dist', 'main.js');

test('--version prints the version and starts no server', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--version']);
  expect(stdout).toMatch(/^cluster-apiserver \d+\.\d+\.\d+( \(commit \w+, \S+\))?\n$/);
});
