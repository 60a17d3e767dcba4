import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ChecksumError, findEtcd, release, requireChecksum } from './etcd-program.ts';

const print = (): void => {};

test('an etcd that is named must run', async () => {
  const env = { ETCD_BIN: '/nowhere/etcd' };
  await expect(findEtcd(env, '/nowhere', { platform: 'linux', arch: 'x64' }, print)).rejects.toThrow(
    'ETCD_BIN=/nowhere/etcd does not run as etcd.',
  );
});

test('an etcd that is named must be of a supported version', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'etcd-program-'));
  const program = path.join(directory, 'etcd');
  const find = (): Promise<string> =>
    findEtcd({ ETCD_BIN: program }, '/nowhere', { platform: 'linux', arch: 'x64' }, print);
  const write = (version: string): void =>
    fs.writeFileSync(program, `#!/bin/sh\necho etcd Version: ${version}\n`, { mode: 0o755 });
  try {
    write('3.5.16');
    expect(await find()).toBe(program);
    write('3.4.23');
    await expect(find()).rejects.toThrow(`${program} is etcd 3.4.23; 3.5.8 is the oldest that is supported.`);
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

test('an archive with another checksum is refused', () => {
  expect(() => requireChecksum(Buffer.from('x'), 'abc', 'https://host/etcd')).toThrow(ChecksumError);
  const sha256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
  expect(() => requireChecksum(Buffer.from('x'), sha256, 'https://host/etcd')).not.toThrow();
});

test.each(['docker-compose.yml', 'deploy/Dockerfile', 'helm/cluster-apiserver/values.yaml'])(
  '%s names the same release',
  (file) => {
    const root = path.resolve(import.meta.dirname, '..', '..', '..');
    const named = fs.readFileSync(path.join(root, file), 'utf8').match(/(?<=etcd:v|tag: v)3\.[0-9]+\.[0-9]+/g);
    expect(new Set(named)).toEqual(new Set([release.version]));
  },
);
