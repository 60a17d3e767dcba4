/** Kinds that have an etcd of their own, with real etcds: one for events, one for a custom kind. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const slowTestMs = 60_000;

const all = '/api/v1/namespaces';
const accountsIn = (namespace: string): string => `${all}/${namespace}/serviceaccounts`;
const eventsIn = (namespace: string): string => `${all}/${namespace}/events`;
const named = (name: string, metadata: object = {}): KubeObject => ({ metadata: { name, ...metadata } });
const event = (namespace: string, name: string, metadata: object = {}): object => ({
  metadata: { name, namespace, ...metadata },
  involvedObject: { kind: 'ServiceAccount', name: 'robot', namespace },
  reason: 'Tested',
  type: 'Normal',
});

let main: RealEtcd;
let ofEvents: RealEtcd;
let server: TestServer;

const urlsOf = (etcd: RealEtcd): string => etcd.endpoints.join(';');
const serve = (): Promise<TestServer> =>
  serveKinds(kinds, {
    etcd: main,
    flags: [`--etcd-servers-overrides=/events#${urlsOf(ofEvents)},${widgets}#${urlsOf(ofEvents)}`],
    errorsExpected: true,
  });
const widgets = 'example.com/widgets';

beforeAll(async () => {
  [main, ofEvents] = await Promise.all([startEtcd({ encrypted: true }), startEtcd({ encrypted: true })]);
  server = await serve();
}, slowTestMs);
afterAll(async () => {
  await server.close();
  await Promise.all([main.stop(), ofEvents.stop()]);
}, slowTestMs);

const member = (etcd: RealEtcd): string => etcd.endpoints[0] ?? '';
const untilStatus = (path: string, wanted: number, of = server): Promise<true> =>
  until(`${path} answers ${wanted}`, async () => (await of.request('GET', path)).status === wanted || undefined);
const keysBelow = async (etcd: RealEtcd, prefix: string): Promise<readonly string[]> =>
  (await allKeys(member(etcd))).filter((key) => key.startsWith(prefix));

describe('events in an etcd of their own', () => {
  test('they are stored there, encrypted, and everything else in the other etcd', async () => {
    expect(await server.request('POST', eventsIn('a'), event('a', 'one'))).toMatchObject({ status: 201 });
    expect(await server.request('POST', accountsIn('a'), named('robot'))).toMatchObject({ status: 201 });
    expect(await keysBelow(ofEvents, '/registry/events/')).toEqual(['/registry/events/a/one']);
    expect(await keysBelow(main, '/registry/events/')).toEqual([]);
    expect(await keysBelow(ofEvents, '/registry/serviceaccounts/')).toEqual([]);
    const stored = await rawValue(member(ofEvents), '/registry/events/a/one');
    expect(stored?.toString('latin1')).toMatch(/^k8s:enc:/);
    const read = await server.request('GET', `/apis/events.k8s.io/v1/namespaces/a/events/one`);
    expect(read).toMatchObject({ status: 200, body: { metadata: { name: 'one' } } });
  });

  test('the namespace controller deletes them, and nothing is created in the namespace any more', async () => {
    await server.request('POST', eventsIn('leaving'), event('leaving', 'one'));
    await server.request('POST', accountsIn('leaving'), named('robot', { finalizers: ['example.com/held'] }));
    await server.request('DELETE', `${all}/leaving`);
    await untilStatus(`${eventsIn('leaving')}/one`, 404);
    expect(await server.request('POST', eventsIn('leaving'), event('leaving', 'late'))).toMatchObject({ status: 403 });
    await server.request('PATCH', `${accountsIn('leaving')}/robot`, { metadata: { finalizers: null } }, mergePatch);
    await untilStatus(`${all}/leaving`, 404);
    expect(await keysBelow(ofEvents, '/registry/events/leaving/')).toEqual([]);
    expect(await keysBelow(ofEvents, '/registry/.own/ended/')).toHaveLength(1);
  });
});

const mergePatch = 'application/merge-patch+json';
