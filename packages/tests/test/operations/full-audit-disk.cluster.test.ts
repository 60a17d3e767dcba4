import { afterAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { loadReplicas } from './replica-load.ts';
import { type Replica, startReplicas } from './replicas.ts';

const slowTestMs = 180_000;
const rounds = repetitions({ ci: 1, soak: 5 });
const responsesBetween = 100;

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

const disk = mountSmallDisk();

describeIf(disk !== undefined, 'the disk of the audit log', 'a file system in memory cannot be mounted', () => {
  test(
    'is full: events are lost and counted, requests and watches go on; with space again events are written',
    async () => {
      const directory = disk ?? '';
      const etcd = await startEtcd();
      cleanup.defer('etcd', () => etcd.stop());
      const log = path.join(directory, 'audit.log');
      const policy = JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] });
      const auditing = {
        files: { 'audit-policy.yaml': policy },
        flags: ['--audit-policy-file=file:audit-policy.yaml', `--audit-log-path=${log}`, '--audit-log-mode=blocking'],
      };
      const replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [auditing, {}] });
      cleanup.defer('replicas', () => replicas.stop());
      const [audited] = replicas.all as [Replica];
      const lost = (): Promise<number> => audited.metric('apiserver_audit_error_total', { plugin: 'log' });
      const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints }, cleanup);
      for (let round = 0; round < rounds; round++) {
        await load.waitForSuccesses(responsesBetween);
        const before = await lost();
        const filler = path.join(directory, 'filler');
        fill(filler);
        await until('lost events', async () => (await lost()) > before || undefined);
        await load.waitForSuccesses(responsesBetween);
        fs.rmSync(filler);
        const written = fs.statSync(log).size;
        await until('events', () => fs.statSync(log).size > written + 10_000 || undefined);
      }
      const { violations, late } = await load.judge();
      expect(violations).toEqual([]);
      expect(late).toEqual([]);
      expect(load.history.filter(({ outcome }) => outcome.result === 'unavailable')).toEqual([]);
      expect(audited.log()).toContain('ENOSPC');
      const events = fs.readFileSync(log, 'utf8').trimEnd().split('\n');
      const torn = events.filter((line) => !isJson(line));
      // The line that the full disk cut off.
      expect(torn.length).toBeLessThanOrEqual(rounds);
    },
    slowTestMs,
  );
});

/** Its directory; undefined where mounting is not permitted. */
function mountSmallDisk(): string | undefined {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'disk-'));
  cleanup.defer('directory', () => fs.rmSync(directory, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', directory], { stdio: 'ignore' });
    cleanup.defer('disk', () => void execFileSync('umount', ['--lazy', directory]));
    return directory;
  } catch {
    return undefined;
  }
}

function fill(file: string): void {
  const piece = Buffer.alloc(4_096);
  const descriptor = fs.openSync(file, 'w');
  try {
    for (;;) fs.writeSync(descriptor, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
