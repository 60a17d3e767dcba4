import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import type { Files } from '../environment.ts';
import { parseFlags } from '../flags.ts';
import { createFileRecords, recordStartupFiles } from './configz.ts';

test('files that are read only at startup, such as the tracing configuration, say so', async () => {
  const files = { read: async () => Buffer.from('content') } as Partial<Files> as Files;
  const records = createFileRecords(systemClock);
  await recordStartupFiles(parseFlags(['--tracing-config-file=tracing.yaml']), files, records);
  records.add({ flag: 'authentication-config', kind: 'AuthenticationConfiguration', path: 'a.yaml' }).applied('');
  expect(records.list().map(({ flag, restartRequired }) => [flag, restartRequired])).toEqual([
    ['tracing-config-file', true],
    ['authentication-config', undefined],
  ]);
});
