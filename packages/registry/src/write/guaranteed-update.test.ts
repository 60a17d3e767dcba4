import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { callUntil, toSyncTask, systemClock } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { type Store } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { robotKind } from '../../test/robot-kind.ts';
import { create, patch, type Registry, type Resource } from '../index.ts';
import { raced as racedStore } from '../../test/use-robots.ts';
import { openTestRegistry } from '../../test/open-test-registry.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const options = { namespace: 'n', dryRun: false, manager: 'm', warn: () => {}, unknownFields: () => {} };
/** No time passes, so that each write is one step. */
const clock = { ...systemClock, monotonicMs: () => 0 };
let registry: Registry;
let resource: Resource;

beforeEach(async () => {
  registry = openTestRegistry(robotKind, memoryStore(clock), clock);
  resource = registry.api.stored[0] as Resource;
  const robot = { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'a' } };
  await create(
    resource,
    decode(robotKind.schema, robot, () => {}),
    options,
    call,
  );
  await resource.collection.waitUntilFresh(undefined, call);
});
afterEach(() => registry.cache.close());

const decisions: readonly (readonly [string, (object: KubeObject) => unknown, unknown])[] = [
  [
    'a rejected patch',
    () => {
      throw badRequest('no');
    },
    { code: 400 },
  ],
  ['a patch without effect', (object) => object, { created: false, removed: false }],
];

/** How often a patch is decided on. `meanwhile` begins in the first decision and ends before the store is read. */
async function countDecisions(
  decide: (object: KubeObject) => unknown,
  meanwhile: () => Promise<unknown>,
): Promise<[number, unknown]> {
  let times = 0;
  let written: Promise<unknown> | undefined;
  const change = toSyncTask((object: KubeObject) => {
    if (++times === 1) written = meanwhile();
    return decide(object);
  });
  const get: Store['get'] = async (key, call) => {
    await written;
    return resource.store.get(key, call);
  };
  const slowToRead: Resource = { ...resource, store: { ...resource.store, get } };
  const result = await patch(slowToRead, 'a', { ...options, change }, call).catch((error: unknown) => error);
  return [times, result];
}

test.each(decisions)('%s is decided once if the store holds the cached state', async (_, decide, expected) => {
  const [times, result] = await countDecisions(decide, async () => {});
  expect(result).toMatchObject(expected as object);
  expect(times).toBe(1);
});

test.each(decisions)('%s is decided again if the cached state is stale', async (_, decide, expected) => {
  const [times, result] = await countDecisions(decide, () => {
    const label = toSyncTask(({ metadata, ...rest }: KubeObject) => ({
      ...rest,
      metadata: { ...metadata, labels: { b: 'c' } },
    }));
    return patch(resource, 'a', { ...options, change: label }, call);
  });
  expect(result).toMatchObject(expected as object);
  expect(times).toBe(2);
});

test('an update that another write came before is decided again on the state in the response, without a read', async () => {
  const label = (name: string) =>
    toSyncTask(({ metadata, ...rest }: KubeObject) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [name]: 'x' } },
    }));
  let reads = 0;
  const store: Store = {
    ...resource.store,
    get: async (key, call) => {
      reads++;
      return resource.store.get(key, call);
    },
  };
  const raced = {
    ...resource,
    store: racedStore(store, () => patch(resource, 'a', { ...options, change: label('b') }, call)),
  };
  const { outcome } = await patch(raced, 'a', { ...options, change: label('c') }, call);
  expect(outcome.object.metadata.labels).toEqual({ b: 'x', c: 'x' });
  expect(reads).toBe(0);
});
