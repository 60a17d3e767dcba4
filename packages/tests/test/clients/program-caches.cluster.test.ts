import { describe, expect, test } from '@jest/globals';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { samples } from '../authorization/samples.ts';
import { describeIf } from '../describe-if.ts';
import type { Client } from '@cluster-apiserver/testkit/api-client';
import { withThreeReplicas } from '../operations/replicas.ts';
import { hasGo, hasPython, hasRust, noClients } from './client-programs.ts';
import { startGoInformers, startPythonInformers, startRustReflectors } from './program-caches.ts';
import { widgetDefinition, widgetGroup } from './widgets.ts';

const slowTestMs = 600_000;
const servedMs = 30_000;
const rounds = repetitions({ ci: 1, soak: 4 });
const namespace = 'informed';

interface CachingProgram {
  readonly name: string;
  readonly isBuilt: boolean;
  readonly start: typeof startGoInformers;
  /** Resources that it reads without types. */
  readonly untyped?: readonly string[];
  /** Resources that it cannot read. */
  readonly unread?: readonly string[];
  readonly onlyFront?: boolean;
}

const programs: readonly CachingProgram[] = [
  {
    name: 'shared informers of client-go, typed by protobuf, of metadata and dynamic,',
    isBuilt: hasGo,
    start: startGoInformers,
    untyped: ['apiextensions.k8s.io/v1/customresourcedefinitions', `${widgetGroup}/v1/widgets`],
  },
  { name: 'reflectors of kube-rs', isBuilt: hasRust, start: startRustReflectors },
  {
    name: "informers of Python's client, of what it has types for,",
    isBuilt: hasPython,
    start: startPythonInformers,
    // It has no type of custom kinds, and requires an eventTime, which events of core/v1 lack.
    unread: [`${widgetGroup}/v1/widgets`, 'events.k8s.io/v1/events'],
    // They connect again without any delay while a replica is down.
    onlyFront: true,
  },
];

describe.each(programs)('$name', ({ isBuilt, start, untyped, unread = [], onlyFront = false }) => {
  describeIf(isBuilt, 'caches', noClients, () => {
    test(
      'converge for every kind while replicas restart',
      () =>
        withThreeReplicas(async (replicas, cleanup) => {
          const [client, ...others] = replicas.all.map((replica) => replica.client());
          if (!client) throw new Error('there are replicas');
          for (const one of [client, ...others]) cleanup.defer('client', () => one.close());

          await expectStatus(client, 201, 'POST', definitions, widgetDefinition);
          const resources = await until(
            'the custom kind',
            async () => {
              const found = await discover(client);
              return found.some(({ group }) => group === widgetGroup) ? found : undefined;
            },
            servedMs,
          );
          const readable = resources.filter(({ id }) => !unread.includes(id));
          const paths = Object.fromEntries(
            readable.map((resource) => [resource.id, `${resource.root}/${resource.name}`]),
          );
          const direct = onlyFront ? [] : replicas.all.map(({ url }) => url);
          const caches = [...direct, replicas.front].map((url) => start({ ...replicas, url }, paths));
          for (const one of caches) cleanup.defer('caches', () => one.end());

          if (untyped) for (const one of caches) expect((await one.listUntyped()).toSorted()).toEqual(untyped);
          for (let round = 0; round < rounds; round++) {
            await writeAll(client, resources, `before-${round}`);
            for (const one of caches) await one.converge(client);
            for (const replica of replicas.all.slice(1))
              for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
                await replica.end(signal);
                await writeAll(client, resources, `${signal.toLowerCase()}-${round}-${replicas.all.indexOf(replica)}`);
                await replica.start();
              }
            for (const one of caches) await one.converge(client);
          }
        }),
      slowTestMs,
    );
  });
});

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Resource {
  readonly group: string;
  readonly name: string;
  readonly isNamespaced: boolean;
  /** `/api/v1` or `/apis/GROUP/VERSION`. */
  readonly root: string;
  /** VERSION/RESOURCE or GROUP/VERSION/RESOURCE. */
  readonly id: string;
}

/** All that can be watched, in the preferred versions. */
async function discover(client: Client): Promise<readonly Resource[]> {
  const { groups } = await read<{ groups: readonly { preferredVersion: { groupVersion: string } }[] }>(client, '/apis');
  const found: Resource[] = [];
  for (const groupVersion of ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)]) {
    const root = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
    const { resources } = await read<{ resources: readonly DiscoveredResource[] }>(client, root);
    for (const { name, namespaced, verbs } of resources)
      if (verbs.includes('watch'))
        found.push({
          group: groupVersion === 'v1' ? '' : (groupVersion.split('/')[0] ?? ''),
          name,
          isNamespaced: namespaced,
          root,
          id: `${groupVersion}/${name}`,
        });
  }
  return found;
}

interface DiscoveredResource {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Three objects of each kind: one stays as it was created, one is changed, one deleted. */
async function writeAll(client: Client, resources: readonly Resource[], prefix: string): Promise<void> {
  for (const { group, name: resource, isNamespaced, root } of resources) {
    const collection = isNamespaced ? `${root}/namespaces/${namespace}/${resource}` : `${root}/${resource}`;
    const sample = { ...samples, ...ownSamples }[`${group}/${resource}`] ?? widgetSample;
    for (const use of ['kept', 'changed', 'deleted']) {
      // The events of both groups are the same objects.
      const short = `${prefix}-${use}${group === 'events.k8s.io' ? '-v1' : ''}`;
      const name = resource === 'customresourcedefinitions' ? `k${short}s.${short}.example.com` : short;
      await expectStatus(client, 201, 'POST', collection, sample({ namespace, name }));
      if (use === 'changed')
        await expectStatus(client, 200, 'PATCH', `${collection}/${name}`, {
          metadata: { labels: { changed: prefix } },
        });
      if (use === 'deleted') await expectStatus(client, 200, 'DELETE', `${collection}/${name}`);
    }
  }
}

const noWebhooks = ({ name }: { readonly name: string }): object => ({ metadata: { name }, webhooks: [] });

/** Webhooks and a quota that refuse none of the objects, and limits that Python reads: it takes no list without items for one. */
const ownSamples: typeof samples = {
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': noWebhooks,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': noWebhooks,
  '/limitranges': ({ name }) => ({ metadata: { name }, spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } }),
  '/resourcequotas': ({ name }) => ({ metadata: { name }, spec: { hard: { 'count/configmaps': '1k' } } }),
};

const widgetSample = ({ name }: { readonly name: string }): object => ({
  apiVersion: `${widgetGroup}/v1`,
  kind: 'Widget',
  metadata: { name },
  spec: { size: 3, parts: [{ name: 'a', weight: 0.5 }] },
});

async function read<T>(client: Client, path: string): Promise<T> {
  const { status, body } = await client.request('GET', path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return JSON.parse(body) as T;
}

async function expectStatus(client: Client, expected: number, method: string, path: string, body?: object) {
  const answer = await client.request(method, path, body && { body });
  if (answer.status !== expected) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
}
