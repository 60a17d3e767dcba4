import { systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { listen } from '@cluster-apiserver/pipeline';
import { auditFiles, storageCommand } from '@cluster-apiserver/server';
import { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';
import { createLog } from '@cluster-apiserver/telemetry';
import type { RealEtcd } from '@cluster-apiserver/testkit/etcd';
import { file } from './configuration.ts';

/** Runs `cluster-apiserver storage`. Returns its output and exit code. */
export async function runStorage(
  etcd: RealEtcd,
  configuration: string,
  ...args: string[]
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const environment = {
    clock,
    random: systemRandom(),
    files: {
      read: async () => Buffer.from(configuration),
      list: async () => [],
      mode: async () => 0o600,
      write: async () => {},
    },
    auditFiles,
    connectEtcd: http2Connect,
    connectKms: { v1: kmsV1Service, v2: kmsV2Service },
    listen,
    runtime: { version: 'v24.0.0', platform: 'linux', arch: 'x64' },
    hostname: 'a-host',
    heap: () => ({ usedBytes: 1, limitBytes: 2 ** 30 }),
    write: () => {},
  };
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: () => {} });
  const all = [...args, `--etcd-servers=${etcd.endpoints.join(',')}`, `--encryption-provider-config=${file}`];
  const code = await storageCommand(all, environment, log, (line) => lines.push(line), new AbortController().signal);
  return { code, lines };
}
