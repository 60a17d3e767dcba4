import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import {
  ApiException,
  CoreV1Api,
  EventsV1Api,
  type KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ServiceAccount,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { kubeConfig } from './kube-config.ts';

// Runs the official JavaScript client against the whole server on a real etcd.

const waitMs = 20_000;

let server: TestServer;
let config: KubeConfig;
let core: CoreV1Api;
beforeAll(async () => {
  server = await serveKinds(kinds);
  config = kubeConfig({ url: server.url, authority: server.certificate, token: server.token });
  core = config.makeApiClient(CoreV1Api);
});
afterAll(() => server.close());

interface Beside {
  readonly labels?: Record<string, string>;
  readonly secrets?: { name: string }[];
}

const create = (
  namespace: string,
  name: string,
  { labels = {}, secrets = [] }: Beside = {},
): Promise<V1ServiceAccount> =>
  core.createNamespacedServiceAccount({ namespace, body: { metadata: { name, labels }, secrets } });

test('typed calls cover the lifecycle of an object', async () => {
  const place = { namespace: 'typed', name: 'robot' };
  const created = await create('typed', 'robot', { labels: { colour: 'red' } });
  expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
  expect(await core.readNamespacedServiceAccount(place)).toEqual(created);
  const replaced = await core.replaceNamespacedServiceAccount({
    ...place,
    body: { metadata: { name: 'robot', labels: { colour: 'red' } }, secrets: [{ name: 'a' }] },
  });
  expect(replaced).toMatchObject({ secrets: [{ name: 'a' }], metadata: { uid: created.metadata?.uid } });
  await expect(core.replaceNamespacedServiceAccount({ ...place, body: created })).rejects.toMatchObject({ code: 409 });
  const { items } = await core.listNamespacedServiceAccount({ namespace: 'typed', labelSelector: 'colour=red' });
  expect(items).toHaveLength(1);
  await core.deleteNamespacedServiceAccount({ ...place, propagationPolicy: 'Background' });
  const gone = await core.readNamespacedServiceAccount(place).catch((error: unknown) => error);
  expect(gone).toBeInstanceOf(ApiException);
  expect(gone).toMatchObject({ code: 404, body: expect.stringContaining('serviceaccounts \\"robot\\" not found') });
});

test('a long list is paginated', async () => {
  for (const name of ['a', 'b', 'c']) await create('pages', name);
  const names: (string | undefined)[] = [];
  let next: string | undefined;
  do {
    const page = await core.listNamespacedServiceAccount({
      namespace: 'pages',
      limit: 2,
      ...(next && { _continue: next }),
    });
    names.push(...page.items.map(({ metadata }) => metadata?.name));
    ({ _continue: next } = page.metadata ?? {});
  } while (next);
  expect(names).toEqual(['a', 'b', 'c']);
  await core.deleteCollectionNamespacedServiceAccount({ namespace: 'pages' });
  expect((await core.listNamespacedServiceAccount({ namespace: 'pages' })).items).toEqual([]);
});

test.each<[keyof typeof PatchStrategy, object, string[]]>([
  ['JsonPatch', [{ op: 'add', path: '/secrets/-', value: { name: 'b' } }], ['a', 'b']],
  ['MergePatch', { secrets: [{ name: 'b' }] }, ['b']],
  ['StrategicMergePatch', { secrets: [{ name: 'b' }] }, ['b', 'a']],
  [
    'ServerSideApply',
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'ServerSideApply'.toLowerCase() },
      secrets: [{ name: 'b' }],
    },
    ['a', 'b'],
  ],
])('%s changes the fields that it names', async (strategy, body, names) => {
  const name = strategy.toLowerCase();
  await create('patches', name, { secrets: [{ name: 'a' }] });
  const patched = await core.patchNamespacedServiceAccount(
    { namespace: 'patches', name, body, fieldManager: 'a-test' },
    setHeaderOptions('Content-Type', PatchStrategy[strategy]),
  );
  expect(patched.secrets?.map((secret) => secret.name)).toEqual(names);
});

test('the generic client works with any kind', async () => {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const header = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'any', name: 'robot' } };
  await objects.create(header);
  expect(await objects.patch({ ...header, secrets: [{ name: 'a' }] } as typeof header)).toMatchObject({
    secrets: [{ name: 'a' }],
  });
  expect((await objects.list('v1', 'ServiceAccount', 'any')).items).toHaveLength(1);
  await objects.delete(header);
  await expect(objects.read(header)).rejects.toMatchObject({ code: 404 });
});

test('events are the same in both API groups', async () => {
  const involvedObject = { apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'events', name: 'robot' };
  await core.createNamespacedEvent({
    namespace: 'events',
    body: {
      metadata: { name: 'e' },
      involvedObject,
      message: 'It opened its eyes',
      type: 'Normal',
      lastTimestamp: new Date(0),
    },
  });
  const events = config.makeApiClient(EventsV1Api);
  expect(await events.readNamespacedEvent({ namespace: 'events', name: 'e' })).toMatchObject({
    note: 'It opened its eyes',
    regarding: involvedObject,
    deprecatedLastTimestamp: new Date(0),
  });
  const about = { namespace: 'events', fieldSelector: 'involvedObject.name=robot' };
  expect((await core.listNamespacedEvent(about)).items).toHaveLength(1);
});

test('a watch delivers all events after a resourceVersion, and ends on abort', async () => {
  const { metadata } = await create('watched', 'before');
  const seen: string[] = [];
  const ended = Promise.withResolvers<unknown>();
  const watch = await new Watch(config).watch(
    '/api/v1/namespaces/watched/serviceaccounts',
    { resourceVersion: metadata?.resourceVersion },
    (type: string, object: V1ServiceAccount) => seen.push(`${type} ${object.metadata?.name}`),
    ended.resolve,
  );
  await create('watched', 'robot');
  await core.deleteNamespacedServiceAccount({ namespace: 'watched', name: 'robot' });
  await until('both events', () => seen.length >= 2 || undefined, waitMs);
  expect(seen).toEqual(['ADDED robot', 'DELETED robot']);
  watch.abort();
  await ended.promise;
});

test('an informer caches existing objects and follows changes', async () => {
  await create('informed', 'first');
  const list = () => core.listNamespacedServiceAccount({ namespace: 'informed' });
  const informer = makeInformer(config, '/api/v1/namespaces/informed/serviceaccounts', list);
  const notifications: string[] = [];
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, ({ metadata }) => notifications.push(`${verb} ${metadata?.name}`));
  await informer.start();
  await create('informed', 'second');
  await core.patchNamespacedServiceAccount(
    { namespace: 'informed', name: 'second', body: { automountServiceAccountToken: false } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
  await core.deleteNamespacedServiceAccount({ namespace: 'informed', name: 'first' });
  await until('all events', () => notifications.length >= 4 || undefined, waitMs);
  expect(notifications).toEqual(['add first', 'add second', 'update second', 'delete first']);
  expect(informer.list().map(({ metadata }) => metadata?.name)).toEqual(['second']);
  await informer.stop();
});

test('the client parses the version', async () => {
  expect(await config.makeApiClient(VersionApi).getCode()).toMatchObject({ major: '1', minor: '36' });
});
