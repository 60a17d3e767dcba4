/** The audit webhook of a whole server: a real webhook that is slow, stopped or sometimes rejects batches. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import {
  type AuditedServer,
  type AuditReceiver,
  policyOf,
  serveAudited,
  startAuditReceiver,
} from './audited-server.ts';

let etcd: RealEtcd;
let receiver: AuditReceiver;
let audited: AuditedServer | undefined;

beforeAll(async () => {
  etcd = await startEtcd();
});
beforeEach(async () => {
  receiver = await startAuditReceiver();
});
afterEach(async () => {
  await audited?.close();
  audited = undefined;
  await receiver.server.stop();
});
afterAll(() => etcd.stop());

async function serve(flags: readonly string[] = [], withLog = false): Promise<AuditedServer> {
  audited = await serveAudited({
    etcd,
    policy: policyOf({ level: 'None', nonResourceURLs: ['*'] }, { level: 'RequestResponse' }),
    ...(!withLog && { logPath: '' }),
    flags: [
      '--audit-webhook-config-file=audit-webhook',
      '--audit-webhook-batch-max-wait=50ms',
      '--audit-webhook-initial-backoff=10ms',
      ...flags,
    ],
    files: { 'audit-webhook': receiver.kubeconfig },
  });
  return audited;
}

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const lost = 'apiserver_audit_error_total{plugin="webhook"}';
const queued = 'apiserver_audit_queued_events{plugin="webhook"}';
const stagesOf = (part: string): string[] =>
  receiver.events.filter(({ requestURI }) => requestURI.includes(part)).map(({ stage }) => stage);

test('events reach the webhook in batches, exactly once, and also the log', async () => {
  const { server, events } = await serve([], true);
  const requests = 200;
  await Promise.all(Array.from({ length: requests }, (_, i) => server.request('GET', `${accounts}?i=${i}.`)));
  const isTestEvent = ({ requestURI }: { readonly requestURI: string }): boolean => requestURI.includes('?i=');
  await until('all events', () => receiver.events.filter(isTestEvent).length >= requests * 2 || undefined);
  expect(receiver.batches.length).toBeLessThan(requests);
  const byKey = (all: readonly { readonly auditID: string; readonly stage: string }[]): string[] =>
    all.map(({ auditID, stage }) => `${auditID} ${stage}`).sort();
  const received = byKey(receiver.events.filter(isTestEvent));
  expect(new Set(received).size).toBe(requests * 2);
  expect(byKey(events().filter(isTestEvent))).toEqual(received);
});

test('a temporarily rejected batch is retried without loss or duplicates', async () => {
  let refused = 0;
  const { server, metric } = await serve();
  receiver.respond = (response) => {
    if (refused++ < 3) response.statusCode = 503;
    response.end();
  };
  await server.request('GET', `${accounts}?of=refused`);
  await until('the events', () => stagesOf('of=refused').length === 2 || undefined);
  expect(stagesOf('of=refused')).toEqual(['RequestReceived', 'ResponseComplete']);
  expect(await metric(lost)).toBe(0);
});

test('a permanently rejected batch is dropped and counted', async () => {
  const { server, metric } = await serve();
  receiver.respond = (response) => {
    response.statusCode = 400;
    response.end();
  };
  const before = (await metric(lost)) ?? 0;
  await server.request('GET', accounts);
  await until('lost events', async () => ((await metric(lost)) ?? 0) >= before + 2 || undefined);
  expect(server.logLines.some((line) => line.includes('the audit webhook responded with the status 400'))).toBe(true);
});

test('a stopped webhook does not fail requests, and receives the queued events after its restart', async () => {
  await receiver.server.stop();
  const { server, metric } = await serve(['--audit-webhook-initial-backoff=200ms']);
  expect((await server.request('GET', `${accounts}?of=dead`)).status).toBe(200);
  await receiver.server.restart();
  await until('the events', () => stagesOf('of=dead').length === 2 || undefined);
  expect(await metric(lost)).toBe(0);
});

test('events beyond the queue of a slow webhook are dropped and counted', async () => {
  const open: (() => void)[] = [];
  receiver.respond = (response) => void open.push(() => response.end());
  const { server, metric } = await serve(['--audit-webhook-batch-buffer-size=20', '--audit-webhook-batch-max-size=5']);
  for (let i = 0; i < 30; i++) expect((await server.request('GET', `${accounts}?of=slow`)).status).toBe(200);
  expect(await metric(queued)).toBe(20);
  expect(await metric(lost)).toBeGreaterThan(20);
  receiver.respond = (response) => void response.end();
  for (const answer of open) answer();
  await until('an empty queue', async () => (await metric(queued)) === 0 || undefined);
});

test('in the mode blocking, a request waits for the webhook and continues without it', async () => {
  const answers: (() => void)[] = [];
  const { server } = await serve(['--audit-webhook-mode=blocking']);
  receiver.respond = (response) => void answers.push(() => response.end());
  let isAnswered = false;
  const pendingStatus = server.request('GET', `${accounts}?of=blocking`).then(({ status }) => {
    isAnswered = true;
    return status;
  });
  for (let stage = 0; stage < 2; stage++) {
    await until('the webhook', () => answers.length > 0 || undefined);
    expect(isAnswered).toBe(false);
    answers.shift()?.();
  }
  expect(await pendingStatus).toBe(200);
  receiver.respond = (response) => {
    response.statusCode = 400;
    response.end();
  };
  expect((await server.request('GET', accounts)).status).toBe(200);
});

test('in the mode blocking-strict, a request is rejected while the webhook rejects events', async () => {
  const { server, metric } = await serve(['--audit-webhook-mode=blocking-strict'], true);
  receiver.respond = (response) => {
    response.statusCode = 400;
    response.end();
  };
  const { status, body } = await server.request('POST', accounts, { metadata: { name: 'refused' } });
  expect([status, body]).toMatchObject([500, { message: 'Internal error occurred: failed to store audit event' }]);
  receiver.respond = (response) => void response.end();
  expect((await server.request('GET', `${accounts}/refused`)).status).toBe(404);
  expect(await metric('apiserver_audit_requests_rejected_total')).toBeGreaterThan(0);
});

test('a changed webhook address is used soon after its file has changed', async () => {
  const { server } = await serve();
  const other = await startAuditReceiver();
  try {
    await server.write('audit-webhook', other.kubeconfig);
    await until('the other webhook', async () => {
      await server.request('GET', accounts);
      return other.events.length > 0 || undefined;
    });
  } finally {
    await other.server.stop();
  }
});

test('a stopping server sends queued events', async () => {
  const { server } = await serve(['--audit-webhook-batch-max-wait=1h']);
  await server.request('GET', `${accounts}?of=stop`);
  expect(stagesOf('of=stop')).toEqual([]);
  await server.close();
  expect(stagesOf('of=stop')).toEqual(['RequestReceived', 'ResponseComplete']);
});

test('a stopping server does not wait for a stopped webhook', async () => {
  const { server } = await serve(['--audit-webhook-batch-max-wait=1h', '--audit-webhook-initial-backoff=1h']);
  await server.request('GET', accounts);
  await receiver.server.stop();
  await server.close();
  expect(server.logLines.some((line) => line.includes('audit events lost'))).toBe(true);
  await receiver.server.restart();
});
