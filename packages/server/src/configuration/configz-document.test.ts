import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import type { Files } from '../environment.ts';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { createFileRecords } from '../files/file-records.ts';
import { createStartupReader } from '../files/startup-files.ts';
import { isConfigz } from './configz.ts';

const records = createFileRecords(systemClock, createMetrics({ ofProcess: false }));
const policy = records.add({ flag: 'audit-policy-file', kind: 'Policy', path: '/policy.yaml' });
policy.applied('rules');
policy.failed(new Error('no such file'));
const document = {
  version: '1.0.0',
  startTime: '2026-01-01T00:00:00Z',
  flags: { v: '2' },
  files: records.list(),
};
const [file] = document.files;

test('a configz document is recognized in its JSON form, also with fields of a later version', () => {
  expect(file).toMatchObject({ hash: expect.any(String), lastReloadError: { message: expect.any(String) } });
  expect(isConfigz(JSON.parse(JSON.stringify(document)))).toBe(true);
  expect(isConfigz({ ...document, later: 1, files: [] })).toBe(true);
});

test.each<[string, unknown]>([
  ['null', null],
  ['a list', [document]],
  ['a Status', { kind: 'Status', message: 'no' }],
  ['no version', { ...document, version: undefined }],
  ['a flag that is no text', { ...document, flags: { v: 2 } }],
  ['files that are no list', { ...document, files: {} }],
  ['a file without path', { ...document, files: [{ ...file, path: undefined }] }],
  ['an error without message', { ...document, files: [{ ...file, lastReloadError: { time: 'now' } }] }],
])('%s is no configz document', (_, value) => {
  expect(isConfigz(value)).toBe(false);
});

test('files that are read only at startup, such as the tracing configuration, say so', async () => {
  const files = { read: async () => Buffer.from('content') } as Partial<Files> as Files;
  const startupRecords = createFileRecords(systemClock, createMetrics({ ofProcess: false }));
  const reader = createStartupReader({ environment: { files }, records: startupRecords });
  await reader.read({ flag: 'tracing-config-file', path: 'tracing.yaml' }, { kind: 'TracingConfiguration' });
  await reader.read({ flag: 'token-auth-file', path: 'tokens' }, { kind: 'static tokens', mayBeGuessed: true });
  startupRecords
    .add({ flag: 'authentication-config', kind: 'AuthenticationConfiguration', path: 'a.yaml' })
    .applied('');
  expect(
    startupRecords.list().map(({ flag, restartRequired, hash }) => [flag, restartRequired, hash !== undefined]),
  ).toEqual([
    ['tracing-config-file', true, true],
    ['token-auth-file', true, false],
    ['authentication-config', undefined, true],
  ]);
});
