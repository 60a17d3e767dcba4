/**
 * Memory of a checkout's server after the load of the bench kit, with a fixed number of writes, so that a faster server
 * is not charged for the objects that it created. After the last part also without garbage.
 * `taskset -c 1 node --conditions=source packages/tests/bench/memory-after-writes.ts CHECKOUT WRITES [--encrypt] [FLAG ...]`
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { collectGarbage } from '../test/hostile/inspector.ts';
import { readProcessState } from '../test/hostile/server-process.ts';
import { type Write, writesOfKit } from './kit-writes.ts';
import { adminToken, applyLoad, type BenchServer, kit, startBenchServer } from './compared-servers.ts';

const connections = 32;
const readSeconds = 4;
const fanOut = { watchers: 500, perSecond: 100, seconds: 5 };

const [checkout = '', writes = '', ...rest] = process.argv.slice(2);
const encryptFlag = '--encrypt';
const count = Number(writes);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'memory-after-writes-'));
const etcd = await startEtcd();
try {
  const server = await startBenchServer({
    name: 'server',
    checkout,
    endpoints: etcd.endpoints,
    home,
    flags: [...(rest.includes(encryptFlag) ? [encryption()] : []), ...rest.filter((flag) => flag !== encryptFlag)],
  });
  try {
    await measure(server);
  } finally {
    await server.stop();
  }
} finally {
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

function encryption(): string {
  const file = path.join(home, 'encryption.json');
  fs.writeFileSync(file, createEncryptionConfiguration());
  return `--encryption-provider-config=${file}`;
}

async function measure(server: BenchServer): Promise<void> {
  report(server, 'start');
  for (const workload of ['get-quorum', 'get-rv0', 'list-ns100', 'list-label', 'list-all', 'list-page500']) {
    await applyLoad(server, { workload, token: adminToken, seconds: readSeconds });
    report(server, workload);
  }
  for (const [name, write] of Object.entries(writesOfKit)) {
    await repeat(server, write);
    report(server, name);
  }
  const { watchers, perSecond, seconds } = fanOut;
  const script = path.join(kit, 'fan-out.mjs');
  await promisify(execFile)(process.execPath, [
    ...[script, server.url, adminToken],
    ...[watchers, perSecond, seconds, server.pid].map(String),
  ]);
  report(server, 'watch-fanout');
  const heap = await collectGarbage(server.pid);
  report(server, `without garbage, ${heap.toFixed(0)} MiB of it V8's heap`);
}

async function repeat({ url, ca }: BenchServer, write: (n: number) => Write): Promise<void> {
  let next = 0;
  const send = async (): Promise<void> => {
    const client = http1Client(url, { ca, token: adminToken });
    while (next < count) {
      const { method, path: target, ...options } = write(next++);
      await requireSuccess(client, method, target, options);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: connections }, send));
}

function report({ pid }: BenchServer, part: string): void {
  console.log(`${part}: ${readProcessState(pid)?.residentMiB.toFixed(0)} MiB`);
}
