/** Flags of the audit backends that other tests leave at their defaults. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type AuditedServer, policyOf, serveAudited, startAuditReceiver } from '../audit/audited-server.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const everything = policyOf({ level: 'None', nonResourceURLs: ['*'] }, { level: 'RequestResponse' });

let etcd: RealEtcd;
let audited: AuditedServer;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterEach(() => audited.close());
afterAll(() => etcd.stop());

const large = { metadata: { name: 'large', annotations: { note: 'x'.repeat(20_000) } } };

test('a throttled log in batch mode loses what its buffer does not hold, and writes the rest', async () => {
  audited = await serveAudited({
    etcd,
    policy: everything,
    flags: [
      '--audit-log-mode=batch',
      '--audit-log-version=audit.k8s.io/v1',
      '--audit-log-batch-max-size=1',
      '--audit-log-batch-buffer-size=10',
      '--audit-log-batch-throttle-enable',
      '--audit-log-batch-throttle-qps=1',
      '--audit-log-batch-throttle-burst=2',
    ],
  });
  const { server, metric } = audited;
  await Promise.all(Array.from({ length: 50 }, () => server.request('GET', accounts)));
  await until(
    'lost events',
    async () => ((await metric('apiserver_audit_error_total{plugin="log"}')) ?? 0) > 0 || undefined,
  );
  await until('events in the log', () => audited.events().length >= 2 || undefined);
});

test('--audit-log-maxage deletes rotated files that are older', async () => {
  audited = await serveAudited({
    etcd,
    policy: everything,
    flags: ['--audit-log-maxage=1', '--audit-log-maxsize=1'],
  });
  const { server, logFile } = audited;
  const folder = path.dirname(logFile);
  const old = path.join(folder, 'audit-2026-01-01T00-00-00.000.log');
  fs.writeFileSync(old, '');
  fs.utimesSync(old, new Date('2026-01-01'), new Date('2026-01-01'));
  const write = async (n: number): Promise<unknown> =>
    server.request('POST', `${accounts}?dryRun=All`, { ...large, metadata: { ...large.metadata, name: `large-${n}` } });
  let n = 0;
  await until('a rotation', async () => {
    await Promise.all(Array.from({ length: 20 }, () => write(n++)));
    return !fs.existsSync(old) || undefined;
  });
});

test('the webhook throttles its batches and removes the objects of large events', async () => {
  const receiver = await startAuditReceiver();
  audited = await serveAudited({
    etcd,
    policy: everything,
    logPath: '',
    flags: [
      '--audit-webhook-config-file=audit-webhook',
      '--audit-webhook-version=audit.k8s.io/v1',
      '--audit-webhook-batch-max-wait=10ms',
      '--audit-webhook-batch-throttle-enable',
      '--audit-webhook-batch-throttle-qps=100',
      '--audit-webhook-batch-throttle-burst=1',
      '--audit-webhook-truncate-enabled',
      '--audit-webhook-truncate-max-event-size=10000',
      '--audit-webhook-truncate-max-batch-size=20000',
    ],
    files: { 'audit-webhook': receiver.kubeconfig },
  });
  await audited.server.request('POST', `${accounts}?of=large`, large);
  const [event] = await until('the event', () => {
    const found = receiver.events.filter(
      ({ requestURI, stage }) => requestURI.includes('of=large') && stage === 'ResponseComplete',
    );
    return found.length > 0 ? found : undefined;
  });
  expect(event).toMatchObject({ annotations: { 'audit.k8s.io/truncated': 'true' } });
  expect(event?.requestObject).toBeUndefined();
  await receiver.server.stop();
});
