/** The audit log of a whole server: its events for every kind of request, and its behavior under failures. */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openHttps, type HttpsResponse, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import {
  type AuditedServer,
  type AuditedServerOptions,
  type AuditEvent,
  policyOf,
  serveAudited,
} from './audited-server.ts';

let etcd: RealEtcd;
let audited: AuditedServer | undefined;

beforeAll(async () => {
  etcd = await startEtcd();
});
afterEach(async () => {
  await audited?.close();
  audited = undefined;
});
afterAll(() => etcd.stop());

async function serve(options: Omit<AuditedServerOptions, 'etcd'>): Promise<AuditedServer> {
  audited = await serveAudited({ etcd, ...options });
  return audited;
}

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const everything = policyOf({ level: 'RequestResponse' });
const metadata = policyOf({ level: 'Metadata' });
const uuid = /^[0-9a-f-]{36}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** Sends a request with other credentials, or none. */
async function requestAs(
  { server }: AuditedServer,
  headers: Readonly<Record<string, string>>,
  target: string,
  method = 'GET',
): Promise<HttpsResponse> {
  return requestHttps(`${server.url}${target}`, { method, headers, ca: server.certificate });
}

describe('An audit log', () => {
  test('records each verb as kube-apiserver does', async () => {
    const { server, waitForEvents: eventsOf } = await serve({ policy: everything });
    const { request } = server;
    await request('POST', accounts, { metadata: { name: 'robot' } });
    await request('GET', `${accounts}/robot?of=get`);
    await request('GET', `${accounts}?fieldSelector=metadata.name%3Drobot`);
    await request('PUT', `${accounts}/robot?of=update`, { metadata: { name: 'robot', labels: { a: 'b' } } });
    await request('PATCH', `${accounts}/robot?of=patch`, ' { "metadata": {} }\n', 'application/merge-patch+json');
    const malformed = '{}\n{"kind":"Event"}';
    await request('PATCH', `${accounts}/robot?of=malformed`, malformed, 'application/merge-patch+json');
    const applied = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n';
    await request('PATCH', `${accounts}/robot?of=apply&fieldManager=m`, applied, 'application/apply-patch+yaml');
    await request('POST', `${accounts}/robot/token`, { spec: { audiences: ['a'] } });
    await request('DELETE', `${accounts}/robot?of=deleted`, { kind: 'DeleteOptions', apiVersion: 'v1' });
    await request('DELETE', `${accounts}?of=deletecollection`);
    await request('GET', '/version?of=path');
    await request('GET', '/apis?of=groups');
    await request('GET', '/api/v1?of=resources');

    const complete = async (part: string): Promise<AuditEvent> => {
      const events = await eventsOf(part, 2);
      const [received, completed] = events as [AuditEvent, AuditEvent];
      expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseComplete']);
      expect(received.auditID).toBe(completed.auditID);
      expect(received.auditID).toMatch(uuid);
      expect(received.stageTimestamp).toBe(received.requestReceivedTimestamp);
      expect(completed.stageTimestamp).toMatch(time);
      expect(completed.stageTimestamp > completed.requestReceivedTimestamp).toBe(true);
      for (const member of ['responseStatus', 'requestObject', 'responseObject', 'annotations'])
        expect(received).not.toHaveProperty(member);
      expect(completed).toMatchObject({
        user: { username: 'admin', uid: '1', groups: ['system:masters', 'system:authenticated'] },
        sourceIPs: ['127.0.0.1'],
        annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
      });
      return completed;
    };
    const reference = { resource: 'serviceaccounts', namespace: 'team', apiVersion: 'v1' };
    const robot = { ...reference, name: 'robot' };
    const account = { kind: 'ServiceAccount', apiVersion: 'v1' };
    const [, created] = (await eventsOf(accounts, 2)) as [AuditEvent, AuditEvent];
    expect(created).toMatchObject({
      verb: 'create',
      objectRef: robot,
      responseStatus: { metadata: {}, code: 201 },
      requestObject: { ...account, metadata: { name: 'robot' } },
      responseObject: { ...account, metadata: { name: 'robot', namespace: 'team', uid: expect.stringMatching(uuid) } },
    });
    const got = await complete('of=get');
    expect(got).toMatchObject({ verb: 'get', objectRef: robot, responseObject: created.responseObject });
    expect(got).not.toHaveProperty('requestObject');
    expect(await complete('fieldSelector')).toMatchObject({
      verb: 'list',
      objectRef: robot,
      responseObject: { kind: 'ServiceAccountList', items: [{ metadata: { name: 'robot' } }] },
    });
    expect(await complete('of=update')).toMatchObject({
      verb: 'update',
      objectRef: robot,
      requestObject: { metadata: { labels: { a: 'b' } } },
      responseObject: { metadata: { labels: { a: 'b' } } },
    });
    expect(await complete('of=patch')).toMatchObject({ verb: 'patch', requestObject: { metadata: {} } });
    expect(await complete('of=malformed')).not.toHaveProperty('requestObject');
    expect(await complete('of=apply')).toMatchObject({
      verb: 'patch',
      requestObject: { ...account, metadata: { name: 'robot' } },
      responseObject: account,
    });
    expect(await complete('/token')).toMatchObject({
      verb: 'create',
      objectRef: { ...robot, subresource: 'token' },
      requestObject: { spec: { audiences: ['a'] } },
      responseObject: { spec: { audiences: ['a'] }, status: { token: '[hidden]' } },
      annotations: {
        'authentication.kubernetes.io/issued-credential-id': expect.stringMatching(/^JTI=[0-9a-f-]{36}$/),
      },
    });
    expect(await complete('of=deleted')).toMatchObject({
      verb: 'delete',
      objectRef: robot,
      responseStatus: { metadata: {}, code: 200 },
      requestObject: { kind: 'DeleteOptions', apiVersion: 'v1' },
    });
    expect(await complete('of=deletecollection')).toMatchObject({
      verb: 'deletecollection',
      objectRef: reference,
      responseStatus: { metadata: {}, status: 'Success', code: 200 },
      responseObject: { kind: 'Status', status: 'Success' },
    });
    const path = await complete('of=path');
    expect(path).toMatchObject({ verb: 'get', requestURI: '/version?of=path', responseStatus: { code: 200 } });
    expect(path).not.toHaveProperty('objectRef');
    expect(path).not.toHaveProperty('responseObject');
    expect(await complete('of=groups')).toMatchObject({ responseObject: { kind: 'APIGroupList' } });
    expect(await complete('of=resources')).toMatchObject({
      responseObject: { kind: 'APIResourceList', groupVersion: 'v1' },
    });
  });

  test('records the start and the end of a watch', async () => {
    const { server, waitForEvents: eventsOf } = await serve({ policy: everything });
    const response = await server.open('GET', `${accounts}?watch=1`);
    const begun = await eventsOf('watch=1', 2);
    expect(begun.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseStarted']);
    response.destroy();
    const all = await eventsOf('watch=1', 3);
    expect(all[2]).toMatchObject({
      verb: 'watch',
      stage: 'ResponseComplete',
      responseStatus: { metadata: {}, code: 200 },
    });
    expect(all[2]).not.toHaveProperty('responseObject');
  });

  test('records unauthenticated, unauthorized and impersonated users', async () => {
    const running = await serve({ policy: metadata });
    const { waitForEvents: eventsOf, server } = running;
    const authorization = `Bearer ${server.token}`;
    await requestAs(running, { authorization: 'Bearer wrong', 'user-agent': 'curl' }, `${accounts}?of=unknown`);
    await requestAs(
      running,
      { authorization, 'impersonate-user': 'bob', 'x-forwarded-for': '1.2.3.4' },
      `${accounts}?of=bob`,
    );
    const unknown = await eventsOf('of=unknown', 1);
    expect(unknown).toMatchObject([
      {
        stage: 'ResponseStarted',
        user: {},
        userAgent: 'curl',
        objectRef: { resource: 'serviceaccounts', namespace: 'team' },
        responseStatus: { metadata: {}, status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401 },
      },
    ]);
    const [received, complete] = await eventsOf('of=bob', 2);
    expect(received).not.toHaveProperty('impersonatedUser');
    expect(complete).toMatchObject({
      user: { username: 'admin' },
      impersonatedUser: { username: 'bob', groups: ['system:authenticated'] },
      sourceIPs: ['1.2.3.4', '127.0.0.1'],
      responseStatus: { status: 'Failure', reason: 'Forbidden', code: 403 },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    });
    expect((await eventsOf('of=unknown', 1)).length).toBe(1);
  });

  test('has the Audit-ID of the response, which a client may choose', async () => {
    const running = await serve({ policy: metadata });
    const { headers } = await requestAs(running, { 'audit-id': 'mine' }, '/readyz?of=mine');
    expect(headers['audit-id']).toBe('mine');
    const events = await running.waitForEvents('of=mine', 2);
    expect(events.map(({ auditID }) => auditID)).toEqual(['mine', 'mine']);
  });

  test('records annotations and denials of admission', async () => {
    const { server, waitForEvents: eventsOf } = await serve({ policy: metadata });
    const group = '/apis/admissionregistration.k8s.io/v1';
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] };
    const policy = await server.request('POST', `${group}/validatingadmissionpolicies`, {
      metadata: { name: 'names' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "object.metadata.name != 'bad'" }],
        auditAnnotations: [{ key: 'name', valueExpression: "'' + object.metadata.name" }],
      },
    });
    const binding = await server.request('POST', `${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'names' },
      spec: { policyName: 'names', validationActions: ['Audit'] },
    });
    expect([policy, binding]).toMatchObject([
      { status: 201, body: { kind: 'ValidatingAdmissionPolicy' } },
      { status: 201 },
    ]);
    await server.request('GET', `${group}/validatingadmissionpolicies`);
    await server.request('GET', `${group}/validatingadmissionpolicybindings`);
    await server.request('POST', `${accounts}?of=bad`, { metadata: { name: 'bad' } });
    const [, complete] = await eventsOf('of=bad', 2);
    expect(complete?.annotations).toMatchObject({
      'names/name': 'bad',
      'validation.policy.admission.k8s.io/validation_failure': expect.stringContaining('"policy":"names"'),
    });
  });
});

/** One request of each verb, identified by its index. */
const verbs: readonly ((server: AuditedServer['server'], index: number) => Promise<unknown>)[] = [
  ({ request }, i) => request('POST', `${accounts}?i=${i}.`, { metadata: { name: `a${i}` } }),
  ({ request }, i) => request('GET', `${accounts}/a${i}?i=${i}.`),
  ({ request }, i) => request('GET', `${accounts}?i=${i}.&limit=2`),
  ({ request }, i) => request('PUT', `${accounts}/a${i}?i=${i}.`, { metadata: { name: `a${i}` } }),
  ({ request }, i) => request('PATCH', `${accounts}/a${i}?i=${i}.`, '{}', 'application/merge-patch+json'),
  ({ request }, i) => request('POST', `${accounts}/a${i}/token?i=${i}.`, { spec: {} }),
  async ({ open }, i) => {
    const response = await open('GET', `${accounts}?i=${i}.&watch=1&timeoutSeconds=-1`);
    await once(response.resume(), 'end');
  },
  ({ request }, i) => request('DELETE', `${accounts}/a${i}?i=${i}.`),
  ({ request }, i) => request('DELETE', `/api/v1/namespaces/other${i}/serviceaccounts?i=${i}.`),
  ({ request }, i) => request('GET', `/version?i=${i}.`),
];
const watchIndex = 6;

test('a provisioned namespace has the events of a request of the server itself', async () => {
  const { server, events, waitForEvents } = await serve({ policy: everything });
  expect(
    (await server.request('POST', '/api/v1/namespaces/new/serviceaccounts', { metadata: { name: 'a' } })).status,
  ).toBe(201);
  await waitForEvents('/namespaces/new/serviceaccounts', 2);
  const ofNamespace = events().filter(({ requestObject }) => JSON.stringify(requestObject)?.includes('"name":"new"'));
  expect(ofNamespace).toMatchObject([
    {
      stage: 'ResponseComplete',
      verb: 'create',
      requestURI: '/api/v1/namespaces',
      user: { username: 'system:apiserver', groups: ['system:authenticated', 'system:masters'] },
      objectRef: { resource: 'namespaces', name: 'new', apiVersion: 'v1' },
      responseStatus: { code: 201 },
      responseObject: { kind: 'Namespace', metadata: { name: 'new', resourceVersion: expect.any(String) } },
      annotations: { 'authorization.k8s.io/decision': 'allow' },
    },
  ]);
});

describe.each(['blocking', 'batch'])('Of 1,000 requests of every verb in the mode %s', (mode) => {
  test('each stage has exactly one event', async () => {
    const flags = [`--audit-log-mode=${mode}`, '--audit-log-maxsize=1'];
    const { server, events, metric } = await serve({ policy: everything, flags });
    const requests = 1_000;
    const clients = 20;
    let next = 0;
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (next < requests) await verbs.at(next++ % verbs.length)?.(server, next - 1);
      }),
    );
    const all = await until('every stage', async () => {
      const found = events().filter(({ requestURI }) => /[?&]i=\d+\./.test(requestURI));
      return found.length >= requests * 2 + requests / verbs.length ? found : undefined;
    });
    const byRequest = Map.groupBy(all, ({ requestURI }) => Number(/[?&]i=(\d+)\./.exec(requestURI)?.[1]));
    expect(byRequest.size).toBe(requests);
    const two = ['RequestReceived', 'ResponseComplete'];
    const three = ['RequestReceived', 'ResponseStarted', 'ResponseComplete'];
    for (const [index, ofRequest] of byRequest) {
      const stages = ofRequest.map(({ stage }) => stage).sort();
      expect({ index, stages }).toEqual({
        index,
        stages: (index % verbs.length === watchIndex ? three : two).toSorted(),
      });
      expect(new Set(ofRequest.map(({ auditID }) => auditID)).size).toBe(1);
    }
    expect(await metric('apiserver_audit_error_total{plugin="log"}')).toBe(0);
    expect(await metric('apiserver_audit_event_total')).toBeGreaterThanOrEqual(all.length);
    // The log was rotated in between.
    expect(fs.readdirSync(path.dirname(audited?.logFile ?? '')).length).toBeGreaterThan(1);
  }, 120_000);
});

describe('A log file', () => {
  const flood = async ({ server }: AuditedServer, requests: number): Promise<void> => {
    for (let i = 0; i < requests; i++)
      await server.request('POST', `${accounts}?of=flood`, {
        metadata: { name: `f${i}`, annotations: { a: 'a'.repeat(20_000) } },
      });
  };
  const backups = ({ logFile }: AuditedServer): string[] =>
    fs.readdirSync(path.dirname(logFile)).filter((name) => name !== 'audit.log');

  test('at its maximum size is renamed and compressed, and old backups are removed', async () => {
    const running = await serve({
      policy: everything,
      flags: ['--audit-log-maxsize=1', '--audit-log-maxbackup=2', '--audit-log-compress'],
    });
    await flood(running, 120);
    await until(
      'two compressed files',
      () => backups(running).filter((name) => name.endsWith('.gz')).length === 2 || undefined,
    );
    const directory = path.dirname(running.logFile);
    await until('no other file', () => backups(running).length === 2 || undefined);
    for (const name of backups(running)) {
      expect(name).toMatch(/^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz$/);
      const lines = gunzipSync(fs.readFileSync(path.join(directory, name)))
        .toString()
        .trimEnd()
        .split('\n');
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ kind: 'Event' });
    }
    expect(fs.statSync(running.logFile).size).toBeLessThanOrEqual(1024 * 1024);
    expect(fs.statSync(running.logFile).mode & 0o777).toBe(0o600);
  }, 60_000);

  test('has one line of text per event in the legacy format', async () => {
    const running = await serve({ policy: metadata, flags: ['--audit-log-format=legacy'] });
    await running.server.request('GET', `${accounts}?of=legacy`);
    const line = await until('a line', () =>
      fs
        .readFileSync(running.logFile, 'utf8')
        .split('\n')
        .find((one) => one.includes('of=legacy') && one.includes('ResponseComplete')),
    );
    expect(line).toContain(
      'method="list" user="admin" groups="\\"system:masters\\",\\"system:authenticated\\"" as="<self>"',
    );
    expect(line).toContain('namespace="team"');
    expect(line).toMatch(/ response="200"$/);
  });

  test('omits the objects of events that are too large', async () => {
    const running = await serve({
      policy: everything,
      flags: ['--audit-log-truncate-enabled', '--audit-log-truncate-max-event-size=10000'],
    });
    await flood(running, 1);
    const [, complete] = await running.waitForEvents('of=flood', 2);
    expect(complete).not.toHaveProperty('requestObject');
    expect(complete?.annotations).toMatchObject({ 'audit.k8s.io/truncated': 'true' });
    expect(complete?.objectRef).toMatchObject({ name: 'f0' });
  });
});

describe('A policy', () => {
  test('is reloaded when it changes, and an invalid one keeps the previous policy', async () => {
    const { server, events, setPolicy, waitForEvents: eventsOf } = await serve({ policy: policyOf({ level: 'None' }) });
    await server.request('GET', `${accounts}?of=before`);
    await setPolicy(metadata);
    await server.request('GET', `${accounts}?of=after`);
    await eventsOf('of=after', 2);
    expect(events().some(({ requestURI }) => requestURI.includes('of=before'))).toBe(false);
    await setPolicy(policyOf({ level: 'All' }, { users: 'ann' }));
    const complaint = server.logLines.find((line) => line.includes('cannot reload the configuration'));
    expect(complaint).toContain('rules[0].level: Unsupported value');
    expect(complaint).toContain('rules[1].level: Required value');
    await server.request('GET', `${accounts}?of=still`);
    await eventsOf('of=still', 2);
  });

  test.each([
    [{ rules: [{ level: 'All' }] }, [], '--audit-policy-file: rules[0].level: Unsupported value: "All"'],
    [metadata, ['--audit-log-path=/dev/null/audit.log'], '--audit-log-path: cannot write /dev/null/audit.log'],
    [metadata, ['--audit-log-truncate-max-batch-size=1'], '--audit-log-truncate-max-batch-size must be at least'],
    [metadata, ['--audit-webhook-config-file=none'], '--audit-webhook-config-file: cannot read none'],
  ])('or flags that are invalid prevent the server from starting: %j %j', async (policy, flags, fault) => {
    await expect(
      serve({ policy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy }, flags }),
    ).rejects.toThrow(fault);
  });
});

describe('A full disk', () => {
  // Writes to this device fail like writes to a full disk.
  const full = {
    policy: policyOf({ level: 'None', nonResourceURLs: ['*'] }, { level: 'Metadata' }),
    logPath: '/dev/full',
  };
  const lost = 'apiserver_audit_error_total{plugin="log"}';

  test.each(['batch', 'blocking'])('loses events but does not fail requests in the mode %s', async (mode) => {
    const { server, metric } = await serve({ ...full, flags: [`--audit-log-mode=${mode}`] });
    expect((await server.request('POST', accounts, { metadata: { name: 'a' } })).status).toBe(201);
    await until('two lost events', async () => ((await metric(lost)) ?? 0) >= 2 || undefined);
    expect(server.logLines.some((line) => line.includes('audit events lost') && line.includes('ENOSPC'))).toBe(true);
    expect(await metric('apiserver_audit_requests_rejected_total')).toBe(0);
  });

  test('fails requests before they have an effect in the mode blocking-strict', async () => {
    const { server, metric } = await serve({ ...full, flags: ['--audit-log-mode=blocking-strict'] });
    const { status, body } = await server.request('POST', accounts, { metadata: { name: 'refused' } });
    expect([status, body]).toMatchObject([
      500,
      { kind: 'Status', reason: 'InternalError', message: 'Internal error occurred: failed to store audit event' },
    ]);
    expect(await metric('apiserver_audit_requests_rejected_total')).toBeGreaterThan(0);
    expect(etcd.control('get', '--prefix', '--keys-only', '/audit-')).not.toContain('refused');
  });
});

describe('A client that disconnects', () => {
  test('during a response still has all of its stages recorded', async () => {
    const running = await serve({ policy: metadata });
    const { server, waitForEvents: eventsOf } = running;
    for (let i = 0; i < 40; i++)
      await server.request('POST', accounts, { metadata: { name: `l${i}`, annotations: { a: 'a'.repeat(100_000) } } });
    const { certificate: ca, token } = server;
    const headers = { accept: 'application/yaml' };
    const response = await openHttps(`${server.url}${accounts}?of=gone`, { ca, token, headers });
    await once(response, 'data');
    response.destroy();
    const events = await eventsOf('of=gone', 2);
    expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseComplete']);
  }, 60_000);
});

test('a stopping server flushes queued events', async () => {
  const flags = ['--audit-log-mode=batch', '--audit-log-batch-max-size=100000', '--audit-log-batch-max-wait=1h'];
  const running = await serve({ policy: metadata, flags });
  const watch = await running.server.open('GET', `${accounts}?watch=1&of=stop`);
  watch.resume();
  await running.server.request('GET', `${accounts}?of=stop`);
  expect(running.events()).toEqual([]);
  await running.server.close();
  const stages = running
    .events()
    .filter(({ requestURI }) => requestURI.includes('of=stop'))
    .map(({ stage }) => stage);
  expect(stages.toSorted()).toEqual([
    'RequestReceived',
    'RequestReceived',
    'ResponseComplete',
    'ResponseComplete',
    'ResponseStarted',
  ]);
}, 60_000);
