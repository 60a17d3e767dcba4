import { expect, test } from '@jest/globals';
import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import { type GetCredentials, http2Connect, identity } from '@cluster-apiserver/storage';
import { StoredKinds } from '@cluster-apiserver/registry';
import { createLog, createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { until } from '@cluster-apiserver/testkit/until';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { parseFlags } from '../flags/flags.ts';
import { createCertificateMeasures } from '../files/certificate-measures.ts';
import { createFileRecords } from '../files/file-records.ts';
import { readSettings } from '../flags/flag.ts';
import { openStorage } from './etcd-storage.ts';
import { storageSettingsOf } from './storage-settings.ts';

const pollMs = 10_000;

async function openWithFiles() {
  const clock = fakeClock();
  const cleanup = new CleanupStack();
  const authority = await testAuthority('etcd');
  const issue = () => authority.issue({ subject: [['CN', 'apiserver']] });
  const [first, second] = [await issue(), await issue()];
  const files = new Map([
    ['ca', authority.certificate],
    ['cert', first.certificate],
    ['key', first.privateKey],
  ]);
  const lines: string[] = [];
  let credentials: GetCredentials = () => undefined;
  const options: unknown[] = [];
  const flags = parseFlags([
    '--etcd-servers=https://127.0.0.1:1',
    '--etcd-cafile=ca',
    '--etcd-certfile=cert',
    '--etcd-keyfile=key',
    '--etcd-election-timeout=5s',
  ]);
  const environment = {
    clock,
    random: seededRandom(1),
    files: {
      read: async (path: string) => Buffer.from(files.get(path) ?? ''),
      write: async () => {},
    },
    // No connection is opened; the test reads the options with which it would be.
    connectEtcd: ((used, of, more) => {
      credentials = of ?? credentials;
      options.push(more);
      return http2Connect(used, of, more);
    }) satisfies typeof http2Connect,
  };
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  const metrics = createMetrics({ ofProcess: false });
  const records = createFileRecords(clock, metrics);
  const context = { environment, metrics, log, records, certificates: createCertificateMeasures(metrics) };
  const [{ client }] = await openStorage(
    readSettings(storageSettingsOf, flags),
    { transformer: identity, storedKinds: new StoredKinds('/registry') },
    context as never, // it uses no more of it
    cleanup,
  );
  return {
    clock,
    cleanup,
    files,
    lines,
    second,
    client,
    records,
    metrics,
    options,
    shown: () => credentials()?.cert?.toString(),
    ca: () => credentials()?.ca?.toString(),
  };
}

test('the next connection to etcd uses a replaced client certificate', async () => {
  const { clock, cleanup, files, lines, second, shown } = await openWithFiles();
  const before = shown();
  files.set('cert', second.certificate);
  clock.advance(pollMs);
  // The key is not replaced yet: half of a pair is not used.
  await until('the report', () => lines.some((line) => line.includes('keeping the previous one')) || undefined);
  expect(shown()).toBe(before);
  files.set('key', second.privateKey);
  await until('the reload', () => {
    clock.advance(pollMs);
    return lines.some((line) => line.includes('configuration reloaded')) || undefined;
  });
  expect(shown()).toBe(second.certificate);
  await cleanup.close();
});

test.each([
  ['empty', () => ''],
  ['of half a certificate', (ca: string) => `${ca}\n${ca.slice(0, 200)}`],
])('a CA file that is %s keeps the previous one', async (_, broken) => {
  const { clock, cleanup, files, lines, ca, records, metrics } = await openWithFiles();
  const before = ca();
  expect(records.list().filter(({ restartRequired }) => restartRequired)).toEqual([]);
  files.set('ca', broken(String(files.get('ca'))));
  clock.advance(pollMs);
  await until('the report', () => lines.some((line) => line.includes('keeping the previous one')) || undefined);
  expect(lines.join('')).toContain('--etcd-cafile: ca holds no certificates in PEM');
  expect(ca()).toBe(before);
  const flagsOfFiles = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'];
  expect(records.list().map(({ flag, lastReloadError }) => [flag, lastReloadError?.message])).toEqual(
    flagsOfFiles.map((flag) => [flag, '--etcd-cafile: ca holds no certificates in PEM']),
  );
  const text = await exposed(metrics);
  for (const flag of flagsOfFiles)
    expect(text).toContain(`apiserver_configuration_file_reloads_total{flag="${flag}",status="failure"} 1\n`);
  await cleanup.close();
});

test('connections to etcd use the configured election timeout', async () => {
  const { cleanup, options, client } = await openWithFiles();
  expect(options).toEqual([{ electionTimeoutMs: 5_000 }]);
  expect(client.electionTimeoutMs).toBe(5_000);
  await cleanup.close();
});
