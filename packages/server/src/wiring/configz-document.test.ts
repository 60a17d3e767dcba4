import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { createFileRecords, isConfigz } from './configz.ts';

const records = createFileRecords(systemClock);
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
