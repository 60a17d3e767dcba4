import { createLog } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { expect, test } from '@jest/globals';
import type { Files } from '../environment.ts';
import { parseFlags } from '../flags/flags.ts';
import { authenticationSettingsOf } from '../authentication/authentication-settings.ts';
import { controllerSettingsOf } from '../controllers/controller-settings.ts';
import { readSettings } from '../flags/flag.ts';
import { servingSettingsOf } from '../serving/serving-settings.ts';
import { storageSettingsOf } from '../storage/storage-settings.ts';
import { warnOfSettings } from './warn-of-settings.ts';

async function warningsOf(args: readonly string[], mode = 0o600): Promise<readonly string[]> {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = createLog({ clock: fakeClock(), format: 'text', verbosity: 0, pid: 1, write });
  const flags = parseFlags(args);
  const settings = {
    storage: readSettings(storageSettingsOf, flags),
    serving: readSettings(servingSettingsOf, flags),
    authentication: readSettings(authenticationSettingsOf, flags),
    controllers: readSettings(controllerSettingsOf, flags),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no other function is called
  await warnOfSettings(settings, { mode: async () => mode } as Partial<Files> as Files, log);
  return lines.map((line) => /"([^"]*)"/.exec(line)?.[1] ?? '');
}

test('a server that stores in clear and knows nobody warns of both', async () => {
  expect(await warningsOf([])).toEqual([
    'objects are stored unencrypted: --encryption-provider-config is not set',
    'no authenticator is configured: all requests are anonymous',
  ]);
});

test.each([
  [0o600, []],
  [0o440, []],
  [0o644, ['file with secrets is readable by all users of the machine']],
])('a file of keys with mode %o', async (mode, warnings) => {
  expect(await warningsOf(['--encryption-provider-config=a', '--client-ca-file=b'], mode)).toEqual(warnings);
});
