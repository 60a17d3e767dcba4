import { expect, test } from '@jest/globals';
import { describeVersion, getVersionInfo, parseBuild, version } from './version.ts';

const node = { version: 'v24.21.0', platform: 'linux', arch: 'x64' };

test('a build stamps commit and date into /version and --version', () => {
  const build = parseBuild('{"commit":"abc","date":"2026-11-26T02:00:00Z"}');
  expect(getVersionInfo({ ...node, build })).toMatchObject({
    gitCommit: 'abc',
    gitTreeState: 'unknown',
    buildDate: '2026-11-26T02:00:00Z',
    platform: 'linux/amd64',
  });
  expect(describeVersion({ build })).toBe(`cluster-apiserver ${version} (commit abc, 2026-11-26T02:00:00Z)`);
});

test('sources without a stamp say so', () => {
  expect(getVersionInfo(node)).toMatchObject({ gitCommit: 'unknown', buildDate: '1970-01-01T00:00:00Z' });
  expect(describeVersion({})).toBe(`cluster-apiserver ${version}`);
  expect(parseBuild('[]')).toBeUndefined();
  expect(parseBuild('{"commit":7}')).toBeUndefined();
});
