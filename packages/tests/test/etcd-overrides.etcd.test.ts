/** Kinds that have an etcd of their own: events and a custom kind in one, and everything else in another. */
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import { lampDefinition } from './custom-sample.ts';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const slowTestMs = 60_000;
const mergePatch = 'application/merge-patch+json';

const all = '/api/v1/namespaces';
const accountsIn = (namespace: string): string => `${all}/${namespace}/serviceaccounts`;
const eventsIn = (namespace: string): string => `${all}/${namespace}/events`;
const lampsIn = (namespace: string): string => `/apis/workshop.example/v1/namespaces/${namespace}/lamps`;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const named = (name: string, metadata: object = {}): KubeObject => ({ metadata: { name, ...metadata } });
const event = (namespace: string, name: string, metadata: object = {}): object => ({
  metadata: { name, namespace, ...metadata },
  involvedObject: { kind: 'ServiceAccount', name: 'robot', namespace },
  reason: 'Tested',
  type: 'Normal',
});
const lamp = (name: string, metadata: object = {}): object => ({
  apiVersion: 'workshop.example/v1',
  kind: 'Lamp',
  metadata: { name, ...metadata },
  spec: { color: 'red' },
});

let main: RealEtcd;
let own: RealEtcd;
let server: TestServer;

const serve = (): Promise<TestServer> => {
  const urls = own.endpoints.join(';');
  return serveKinds(kinds, {
    etcd: main,
    flags: [`--etcd-servers-overrides=/events#${urls},workshop.example/lamps#${urls}`],
    errorsExpected: true,
  });
};

beforeAll(async () => {
  [main, own] = await Promise.all([startEtcd({ encrypted: true }), startEtcd({ encrypted: true })]);
  server = await serve();
  await server.request('POST', definitions, lampDefinition);
  await untilStatus(lampsIn('a'), 200);
}, slowTestMs);
afterAll(async () => {
  await server.close();
  await Promise.all([main.stop(), own.stop()]);
}, slowTestMs);

const untilStatus = (path: string, wanted: number, of = server): Promise<true> =>
  until(`${path} answers ${wanted}`, async () => (await of.statusOf('GET', path)) === wanted || undefined, slowTestMs);
const create = async (path: string, object: object): Promise<KubeObject> => {
  const { status, body } = await server.request('POST', path, object);
  expect({ status, body }).toMatchObject({ status: 201 });
  return body;
};
const keysBelow = async (etcd: RealEtcd, prefix: string): Promise<readonly string[]> =>
  (await allKeys(etcd.endpoints[0] ?? '')).filter((key) => key.startsWith(prefix));
const ownerOf = ({ apiVersion, kind, metadata: { name, uid } }: KubeObject, more: object = {}): object => ({
  ownerReferences: [{ apiVersion, kind, name, uid, ...more }],
});
const signal = (name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => Promise.all(own.members.map((one) => one.signal(name)));

describe('while both etcds answer', () => {
  test.each([
    ['an event', '/registry/events/stored/', eventsIn('stored'), event('stored', 'one')],
    ['a custom object', '/registry/workshop.example/lamps/stored/', lampsIn('stored'), lamp('one')],
  ])('%s is stored in its own etcd, encrypted', async (_, prefix, path, object) => {
    await create(path, object);
    expect(await keysBelow(own, prefix)).toContain(`${prefix}one`);
    expect(await keysBelow(main, prefix)).toEqual([]);
    const stored = await rawValue(own.endpoints[0] ?? '', `${prefix}one`);
    expect(stored?.toString('latin1')).toMatch(/^k8s:enc:/);
  });

  test('an override holds for all groups and versions of its kind', async () => {
    await create(eventsIn('stored'), event('stored', 'two'));
    const read = await server.request('GET', '/apis/events.k8s.io/v1/namespaces/stored/events/two');
    expect(read).toMatchObject({ status: 200, body: { metadata: { name: 'two' } } });
  });

  test('everything else is stored in the other one', async () => {
    await create(accountsIn('stored'), named('robot'));
    expect(await keysBelow(main, '/registry/serviceaccounts/stored/')).toContain(
      '/registry/serviceaccounts/stored/robot',
    );
    const found = new Set((await keysBelow(own, '/registry/')).map((key) => key.split('/', 3)[2]));
    expect(['.own', 'events', 'workshop.example']).toEqual(expect.arrayContaining([...found]));
  });

  test('a resourceVersion is one of the etcd of the kind', async () => {
    const { metadata: one } = await create(lampsIn('versions'), lamp('one'));
    for (let count = 0; count < 50; count++) await create(accountsIn('versions'), named(`robot-${count}`));
    const { metadata: two } = await create(lampsIn('versions'), lamp('two'));
    expect(Number(two.resourceVersion) - Number(one.resourceVersion)).toBeLessThan(50);
    const watch = await server.open('GET', `${lampsIn('versions')}?watch=1&resourceVersion=${one.resourceVersion}`);
    const [first] = await watch.take(1).toArray();
    expect(String(first)).toContain('"name":"two"');
  });

  test('a deleted namespace takes its objects there along, and nothing is created in it any more', async () => {
    await create(eventsIn('leaving'), event('leaving', 'one'));
    await create(lampsIn('leaving'), lamp('one'));
    await create(accountsIn('leaving'), named('robot', { finalizers: ['example.com/held'] }));
    await server.request('DELETE', `${all}/leaving`);
    await untilStatus(`${eventsIn('leaving')}/one`, 404);
    expect(await server.request('POST', eventsIn('leaving'), event('leaving', 'late'))).toMatchObject({ status: 403 });
    await server.request('PATCH', `${accountsIn('leaving')}/robot`, { metadata: { finalizers: null } }, mergePatch);
    await untilStatus(`${all}/leaving`, 404);
    expect(await keysBelow(own, '/registry/events/leaving/')).toEqual([]);
    expect(await keysBelow(own, '/registry/workshop.example/lamps/leaving/')).toEqual([]);
  });

  test.each([
    ['an event of an account', accountsIn, named('owner'), eventsIn, event('owned', 'dependent')],
    ['an account of a lamp', lampsIn, lamp('owner'), accountsIn, named('dependent')],
  ])('garbage collection deletes %s', async (_, ownersIn, owner, dependentsIn, dependent) => {
    const created = await create(ownersIn('owned'), owner);
    const { metadata, ...rest } = dependent as KubeObject;
    await create(dependentsIn('owned'), { ...rest, metadata: { ...metadata, ...ownerOf(created) } });
    await create(dependentsIn('owned'), { ...rest, metadata: { ...metadata, name: 'independent' } });
    await server.request('DELETE', `${ownersIn('owned')}/owner`);
    await untilStatus(`${dependentsIn('owned')}/dependent`, 404);
    expect(await server.statusOf('GET', `${dependentsIn('owned')}/independent`)).toBe(200);
  });

  test('a dependent is not taken for an orphan because its owner is in the other etcd', async () => {
    for (let count = 0; count < 100; count++) {
      const owner = await create(accountsIn('quick'), named(`owner-${count}`));
      await create(lampsIn('quick'), lamp(`lamp-${count}`, ownerOf(owner)));
    }
    // The collector works in the order of changes: when it has deleted this one, it has seen the others.
    const last = await create(accountsIn('quick'), named('last'));
    await create(lampsIn('quick'), lamp('last', ownerOf(last)));
    await server.request('DELETE', `${accountsIn('quick')}/last`);
    await untilStatus(`${lampsIn('quick')}/last`, 404);
    expect((await server.request('GET', lampsIn('quick'))).body.items).toHaveLength(100);
  });

  test('a deletion in the foreground waits for a dependent in the other etcd', async () => {
    const owner = await create(accountsIn('foreground'), named('owner'));
    const metadata = { ...ownerOf(owner, { blockOwnerDeletion: true }), finalizers: ['example.com/held'] };
    await create(lampsIn('foreground'), lamp('dependent', metadata));
    const path = `${lampsIn('foreground')}/dependent`;
    await server.request('DELETE', `${accountsIn('foreground')}/owner?propagationPolicy=Foreground`);
    await until('the dependent to be deleted', async () => {
      const { body } = await server.request('GET', path);
      return body.metadata.deletionTimestamp;
    });
    expect(await server.statusOf('GET', `${accountsIn('foreground')}/owner`)).toBe(200);
    await server.request('PATCH', path, { metadata: { finalizers: null } }, mergePatch);
    await untilStatus(`${accountsIn('foreground')}/owner`, 404);
  });

  test('a quota counts objects in the other etcd', async () => {
    const quota = `${all}/counted/resourcequotas/lamps`;
    const name = 'count/lamps.workshop.example';
    const used = (count: number) =>
      until(`${count} to be counted`, async () => {
        const { body } = await server.request('GET', quota);
        return (
          (body['status'] as { used?: Record<string, string> } | undefined)?.used?.[name] === String(count) || undefined
        );
      });
    await create(`${all}/counted/resourcequotas`, { ...named('lamps'), spec: { hard: { [name]: '2' } } });
    await used(0);
    await create(lampsIn('counted'), lamp('one'));
    await create(lampsIn('counted'), lamp('two'));
    await used(2);
    const { status, body } = await server.request('POST', lampsIn('counted'), lamp('three'));
    expect({ status, body }).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('exceeded quota') },
    });
    await server.request('DELETE', `${lampsIn('counted')}/one`);
    await used(1);
    await create(lampsIn('counted'), lamp('three'));
  });

  test('metrics and health checks name both', async () => {
    const metrics = await server.metricsPage();
    for (const id of ['etcd-0', 'etcd-1']) {
      expect(metrics).toMatch(new RegExp(`etcd_client_connections_total{storage_cluster_id="${id}"} [1-9]`));
      expect(metrics).toContain(`apiserver_watch_cache_revision_lag{storage_cluster_id="${id}"} `);
    }
    expect(await text(await server.open('GET', '/healthz?verbose'))).toContain('[+]etcd-override-0 ok');
    expect(await text(await server.open('GET', '/readyz?verbose'))).toContain('[+]etcd-override-readiness-0 ok');
  });
});

/** What clients see of an etcd of their kinds that does not answer, and that all other kinds do not see it. */
async function expectOutage(within: string, of = server): Promise<void> {
  for (const [path, object] of [
    [eventsIn(within), event(within, 'late')],
    [lampsIn(within), lamp('late')],
  ] as const) {
    // 504 if it was sent before the outage was known: then it may be stored later.
    expect([503, 504]).toContain((await of.request('POST', path, object)).status);
    expect(await of.request('GET', path)).toMatchObject({
      status: 503,
      body: { reason: 'ServiceUnavailable', message: 'the storage is unavailable; please try again' },
    });
  }
  for (let count = 0; count < 20; count++) {
    const name = `robot-${count}`;
    expect(await of.statusOf('POST', accountsIn(within), named(name))).toBe(201);
    expect(await of.statusOf('GET', `${accountsIn(within)}/${name}`)).toBe(200);
    expect(await of.statusOf('DELETE', `${accountsIn(within)}/${name}`)).toBe(200);
  }
  expect(await of.statusOf('GET', '/readyz')).toBe(200);
  expect(await of.metricsPage()).toContain('etcd_unreachable{storage_cluster_id="etcd-1"} 1\n');
  const health = await of.open('GET', '/healthz');
  expect([health.statusCode, await text(health)]).toEqual([500, expect.stringContaining('[-]etcd-override-0 failed')]);
}

describe('while the own etcd of some kinds', () => {
  test.each([
    ['stands still', 'still', () => signal('SIGSTOP'), () => signal('SIGCONT')],
    ['is down', 'down', () => signal('SIGKILL'), () => Promise.all(own.members.map((one) => one.start()))],
  ])(
    '%s, they answer 503 and all others are served; afterwards all are',
    async (_, within, stop, start) => {
      await create(lampsIn(within), lamp('kept'));
      await create(accountsIn(`gone-${within}`), named('robot'));
      const owner = await create(accountsIn(within), named('owner'));
      await create(accountsIn(within), named('dependent', ownerOf(owner)));
      await stop();
      try {
        await expectOutage(within);
        // The garbage of other kinds is collected.
        await server.request('DELETE', `${accountsIn(within)}/owner`);
        await untilStatus(`${accountsIn(within)}/dependent`, 404);
        // A namespace may have content there, so it stays; its other content goes.
        await server.request('DELETE', `${all}/gone-${within}`);
        await untilStatus(`${accountsIn(`gone-${within}`)}/robot`, 404);
        await until('the condition', async () => {
          const { body } = await server.request('GET', `${all}/gone-${within}`);
          return JSON.stringify(body['status']).includes('lamps.workshop.example: ') || undefined;
        });
      } finally {
        await start();
      }
      await untilStatus(`${lampsIn(within)}/kept`, 200);
      await untilStatus(`${all}/gone-${within}`, 404);
      expect(await server.statusOf('DELETE', `${lampsIn(within)}/kept`)).toBe(200);
      await untilStatus('/healthz', 200);
    },
    slowTestMs,
  );

  test(
    'is down, a replica starts, is ready, and serves all other kinds; the leader collects their garbage',
    async () => {
      const within = 'restarted';
      await create(lampsIn(within), lamp('kept'));
      await signal('SIGKILL');
      try {
        await server.close();
        server = await serve();
        await untilStatus('/readyz', 200);
        await expectOutage(within);
        const owner = await create(accountsIn(within), named('owner'));
        await create(accountsIn(within), named('dependent', ownerOf(owner)));
        await server.request('DELETE', `${accountsIn(within)}/owner`);
        await untilStatus(`${accountsIn(within)}/dependent`, 404);
      } finally {
        await Promise.all(own.members.map((one) => one.start()));
      }
      await untilStatus(`${lampsIn(within)}/kept`, 200);
      expect(await server.statusOf('DELETE', `${lampsIn(within)}/kept`)).toBe(200);
    },
    slowTestMs,
  );
});
