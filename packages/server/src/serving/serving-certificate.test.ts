import { CleanupStack, requireValue, seededRandom } from '@cluster-apiserver/base';
import { createLog } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { expect, test } from '@jest/globals';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { parseFlags } from '../flags/flags.ts';
import { readSettings } from '../flags/flag.ts';
import { servingSettingsOf } from './serving-settings.ts';
import { followServingCertificate, loadServingCertificate } from './serving-certificate.ts';

test('a failed reload names the flag and the file, as a failed start does', async () => {
  const { certificate, privateKey } = await testAuthority('serving');
  const contents = new Map([
    ['crt', certificate],
    ['key', privateKey],
  ]);
  const files = { read: async (path: string) => Buffer.from(requireValue(contents.get(path), 'the file')) };
  const settings = readSettings(servingSettingsOf, parseFlags(['--tls-cert-file=crt', '--tls-private-key-file=key']));
  const load = (): Promise<void> => loadServingCertificate(settings, files as never); // it only reads
  await load();
  contents.set('crt', certificate.slice(0, 100));
  await expect(load()).rejects.toThrow('--tls-cert-file: crt holds no certificate in PEM');
  contents.clear();
  await expect(load()).rejects.toThrow(
    /--tls-cert-file: cannot read crt: .*\n--tls-private-key-file: cannot read key: /,
  );
});

test.each([
  ['cannot be written', 'ENOENT', 'EACCES: permission denied'],
  ['is a file', 'ENOTDIR', 'never written'],
])('a directory of certificates that %s is named with its flag, in one line', async (_, readCode, writeMessage) => {
  const clock = fakeClock();
  const fail = (message: string, code: string) => Promise.reject(Object.assign(new Error(message), { code }));
  const files = {
    read: () => fail(`${readCode}: cannot read`, readCode),
    write: () => fail(writeMessage, 'EACCES'),
    list: async () => [],
    mode: async () => 0o600,
  };
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: () => true });
  const environment = { clock, random: seededRandom(1), files };
  await expect(
    // It opens nothing before that.
    followServingCertificate(
      readSettings(servingSettingsOf, parseFlags(['--cert-dir=there'])),
      { environment, log } as never,
      new CleanupStack(),
    ),
  ).rejects.toThrow(/^--cert-dir: the certificate in there cannot be used: [^\n]*$/);
});
