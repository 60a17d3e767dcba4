import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, requireValue, systemClock as clock } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { describeIf } from '../describe-if.ts';
import { loadReplicas } from './replica-load.ts';
import { type Replica, type Replicas, startReplicas } from './replicas.ts';

// Two versions side by side on one etcd, as during an upgrade. `npm run skew -- REVISION` builds the other one.

const other = process.env.OTHER_SERVER;
const slowTestMs = 180_000;
const seenMs = 20_000;
/** How long both serve a load that is judged, and how many responses there are between two restarts. */
const loadedMs = repetitions({ ci: 15_000, soak: 600_000 });
const responsesBetween = 500;
const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

interface Sample {
  readonly collection: string;
  /** The leader writes its status meanwhile. */
  readonly isObserved?: true;
  readonly object: (name: string) => object;
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.skew.example.com' },
  spec: {
    group: 'skew.example.com',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer', default: 7 } } } },
          },
        },
      },
    ],
  },
};

const meta = (name: string): object => ({ name, labels: { state: 'written' } });
/** One of each way to be stored: plain, encrypted, with a lifetime, with rules of its own, and defined by a user. */
const samples: readonly Sample[] = [
  {
    collection: '/api/v1/namespaces/default/configmaps',
    object: (name) => ({ metadata: meta(name), data: { a: 'b' } }),
  },
  {
    collection: '/api/v1/namespaces/default/secrets',
    object: (name) => ({ metadata: meta(name), stringData: { a: 'b' } }),
  },
  { collection: '/api/v1/namespaces/default/serviceaccounts', object: (name) => ({ metadata: meta(name) }) },
  {
    collection: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    object: (name) => ({ metadata: meta(name), spec: { holderIdentity: 'a' } }),
  },
  {
    collection: '/api/v1/namespaces/default/events',
    object: (name) => ({
      metadata: meta(name),
      involvedObject: { kind: 'ConfigMap', namespace: 'default', name: 'x' },
      reason: 'Skew',
      message: 'x',
    }),
  },
  {
    collection: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    object: (name) => ({ metadata: meta(name), rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }),
  },
  {
    collection: '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    object: (name) => ({
      metadata: meta(name),
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 1, lendablePercent: 0, limitResponse: { type: 'Reject' } },
      },
    }),
  },
  {
    collection: '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    isObserved: true,
    object: (name) => ({
      metadata: meta(name),
      spec: { priorityLevelConfiguration: { name: 'catch-all' }, matchingPrecedence: 9_000 },
    }),
  },
  {
    collection: '/apis/skew.example.com/v1/namespaces/default/widgets',
    object: (name) => ({ apiVersion: 'skew.example.com/v1', kind: 'Widget', metadata: meta(name), spec: {} }),
  },
];

describeIf(other !== undefined, 'two versions on one etcd', 'npm run skew tests it', () => {
  let replicas: Replicas;
  let before: Replica;
  let after: Replica;

  beforeAll(async () => {
    ({ replicas } = await startBoth());
    [before, after] = replicas.all as [Replica, Replica];
    await answer(before, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    for (const replica of replicas.all)
      await until(
        'the kind',
        async () => (await statusOf(replica, samples.at(-1)?.collection ?? '')) === 200 || undefined,
        seenMs,
      );
  }, slowTestMs);

  test.each(samples)(
    '$collection: each reads, follows and changes what the other wrote',
    async ({ collection, object, isObserved }) => {
      const comparable = (value: unknown): unknown => (isObserved ? (value as Observed).spec : value);
      for (const [from, to, name] of [
        [before, after, 'of-before'],
        [after, before, 'of-after'],
      ] as const) {
        const created = await answer(from, 'POST', collection, object(name));
        expect(comparable(await answer(to, 'GET', `${collection}/${name}`))).toEqual(comparable(created));
        const patched = await answer(to, 'PATCH', `${collection}/${name}`, {
          metadata: { labels: { state: 'changed' } },
        });
        expect(comparable(await answer(from, 'GET', `${collection}/${name}`))).toEqual(comparable(patched));
        // The watch cache of the first one follows.
        await until(
          'the change',
          async () => {
            const list = (await answer(
              from,
              'GET',
              `${collection}?resourceVersion=0&labelSelector=state=changed`,
            )) as List;
            return list.items.some(({ metadata }) => metadata.name === name) || undefined;
          },
          seenMs,
        );
      }
    },
    slowTestMs,
  );

  test('what both serve has the same discovery', async () => {
    const [older, newer] = await Promise.all(replicas.all.map(resourcesByVersion));
    const both = Object.keys(requireValue(older)).filter((version) => newer && version in newer);
    expect(both).toEqual(expect.arrayContaining(['v1', 'skew.example.com/v1', 'rbac.authorization.k8s.io/v1']));
    for (const version of both) expect(newer?.[version]).toEqual(older?.[version]);
  });

  test('a list that begins at one goes on at the other', async () => {
    const names = Array.from({ length: 5 }, (_, at) => `paged-${at}`);
    for (const { collection, object } of samples) {
      for (const name of names) await answer(before, 'POST', collection, object(name));
      for (const [first, second] of [
        [before, after],
        [after, before],
      ] as const) {
        const page = (await answer(first, 'GET', `${collection}?limit=2`)) as List;
        const token = encodeURIComponent(page.metadata.continue ?? '');
        const rest = (await answer(second, 'GET', `${collection}?continue=${token}`)) as List;
        expect(rest.metadata.resourceVersion).toBe(page.metadata.resourceVersion);
        const listed = [...page.items, ...rest.items].map(({ metadata }) => metadata.name);
        expect(listed).toEqual(expect.arrayContaining(names));
        expect(new Set(listed).size).toBe(listed.length);
      }
    }
  });

  test(
    'each serves alone what both wrote, and leads',
    async () => {
      for (const { collection, object } of samples) {
        await answer(before, 'POST', collection, object('kept-before'));
        await answer(after, 'POST', collection, object('kept-after'));
      }
      for (const [alone, gone] of [
        [after, before],
        [before, after],
      ] as const) {
        await gone.end('SIGTERM');
        for (const { collection, object } of samples) {
          const name = `alone-${alone === after ? 'after' : 'before'}`;
          await answer(alone, 'POST', collection, object(name));
          const list = (await answer(alone, 'GET', collection)) as List;
          expect(list.items.map(({ metadata }) => metadata.name)).toEqual(
            expect.arrayContaining(['kept-before', 'kept-after', name]),
          );
        }
        // Only the leader ends the deletion of a namespace.
        const namespace = alone === after ? 'led-after' : 'led-before';
        await answer(alone, 'POST', '/api/v1/namespaces', { metadata: { name: namespace } });
        await answer(alone, 'DELETE', `/api/v1/namespaces/${namespace}`);
        await until(
          'the end of a namespace',
          async () => (await statusOf(alone, `/api/v1/namespaces/${namespace}`)) === 404 || undefined,
          seenMs,
        );
        await gone.start();
      }
    },
    slowTestMs,
  );

  test(
    'no write and no event is lost while clients use both, and each restarts',
    async () => {
      // Nothing else may write what is judged.
      const { etcd, replicas: judged } = await startBoth();
      const load = await loadReplicas(judged, { etcdEndpoints: etcd.endpoints }, cleanup);
      const endMs = clock.monotonicMs() + loadedMs;
      for (let round = 0; round < judged.all.length || clock.monotonicMs() < endMs; round++) {
        await load.waitForResponses(responsesBetween);
        const restarted = requireValue(judged.all[round % judged.all.length]);
        await restarted.end('SIGTERM');
        await load.waitForResponses(responsesBetween);
        await restarted.start();
      }
      const { violations, late } = await load.judge();
      expect(violations).toEqual([]);
      expect(late).toEqual([]);
    },
    slowTestMs + 2 * loadedMs,
  );
});

async function startBoth(): Promise<{ readonly etcd: RealEtcd; readonly replicas: Replicas }> {
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{ program: other ?? '' }, {}] });
  cleanup.defer('replicas', () => replicas.stop());
  return { etcd, replicas };
}

/** What discovery says of each version of each group. */
async function resourcesByVersion(replica: Replica): Promise<Readonly<Record<string, unknown>>> {
  const { groups } = (await answer(replica, 'GET', '/apis')) as Groups;
  const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
  const paths = [['v1', '/api/v1'], ...versions.map((version) => [version, `/apis/${version}`])];
  return Object.fromEntries(
    await Promise.all(paths.map(async ([version = '', path = '']) => [version, await answer(replica, 'GET', path)])),
  ) as Readonly<Record<string, unknown>>;
}

interface Groups {
  readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
}

interface Observed {
  readonly spec: unknown;
}

interface List {
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

async function answer(replica: Replica, method: string, path: string, body?: object): Promise<unknown> {
  return JSON.parse(await requireSuccess(replica, method, path, body && { body }));
}

const statusOf = async (replica: Replica, path: string): Promise<number> => (await replica.request('GET', path)).status;
