/** Requests whose events are larger than the queue of the audit log: every response has its event. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { http2Client } from '@cluster-apiserver/testkit/api-client';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type AuditedServer, policyOf, serveAudited } from './audited-server.ts';

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

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const annotation = 'x'.repeat(200_000);
/** Several times as many events as the queues below have room for. */
const creations = repetitions({ ci: 150, soak: 300 });
/** Of each client. */
const reads = repetitions({ ci: 40, soak: 100 });
const lost = 'apiserver_audit_error_total{plugin="log"}';

/** Names of the objects whose request has an event of its end, by the status code. */
function completed({ events }: AuditedServer, verb: string): Map<number, string[]> {
  const found = events().filter(
    (event) =>
      event.stage === 'ResponseComplete' && event.verb === verb && event.objectRef?.['resource'] === 'serviceaccounts',
  );
  const byCode = Map.groupBy(found, ({ responseStatus }) => responseStatus?.code ?? 0);
  return new Map(Array.from(byCode, ([code, ones]) => [code, ones.map(({ objectRef }) => objectRef?.name ?? '')]));
}

test.each(['blocking', 'blocking-strict'])(
  'large creates at once, in the mode %s',
  async (mode) => {
    audited = await serveAudited({
      etcd,
      policy: policyOf({ level: 'RequestResponse', omitStages: ['RequestReceived'] }),
      flags: [`--audit-log-mode=${mode}`, '--max-mutating-requests-inflight=300', '--audit-log-batch-buffer-size=20'],
    });
    const { server, metric } = audited;
    const create = async (at: number): Promise<{ readonly name: string; readonly status: number }> => {
      const name = `robot-${at}`;
      const { status } = await server.request('POST', accounts, { metadata: { name, annotations: { annotation } } });
      expect([201, 429, 503, 504]).toContain(status);
      return { name, status };
    };
    const responses = await Promise.all(Array.from({ length: creations }, (_, at) => create(at)));
    const namesOf = (status: number): string[] =>
      responses.filter((response) => response.status === status).map(({ name }) => name);
    expect(namesOf(201).length).toBeGreaterThan(0);
    const recorded = completed(audited, 'create');
    // A busy machine may take longer than a request; such a create has been answered, too, and may have been stored.
    for (const status of [201, 504]) expect((recorded.get(status) ?? []).sort()).toEqual(namesOf(status).sort());
    const { body } = await server.request('GET', accounts);
    const stored = (body.items ?? []).map(({ metadata }) => metadata.name ?? '');
    expect(stored.filter((name) => !namesOf(504).includes(name)).sort()).toEqual(namesOf(201).sort());
    expect(await metric(lost)).toBe(0);
  },
  120_000,
);

test('large reads over HTTP/2 that nobody paces', async () => {
  audited = await serveAudited({
    etcd,
    policy: policyOf({ level: 'RequestResponse' }),
    flags: ['--audit-log-mode=blocking', '--audit-log-batch-buffer-size=50'],
  });
  const { server, metric } = audited;
  await server.request('POST', accounts, { metadata: { name: 'large', annotations: { annotation } } });
  const clients = Array.from({ length: 6 }, () =>
    http2Client(server.url, { ca: server.certificate, token: server.token }),
  );
  const responses = await Promise.all(
    Array.from({ length: reads }, (_, at) =>
      clients.map((client, of) => client.request('GET', `${accounts}/large?read=${at}-${of}.`)),
    ).flat(),
  );
  for (const client of clients) client.close();
  const answered = responses.filter(({ status }) => status === 200).length;
  expect(answered).toBeGreaterThan(0);
  const recorded = completed(audited, 'get').get(200) ?? [];
  expect(recorded.filter((name) => name === 'large')).toHaveLength(answered);
  expect(await metric(lost)).toBe(0);
}, 120_000);
