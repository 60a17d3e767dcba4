import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { callUntil, inOneStep, seededRandom, systemClock } from '@cluster-apiserver/base';
import { badRequest, decode, type KubeObject } from '@cluster-apiserver/model';
import { memoryStore } from '@cluster-apiserver/storage';
import { robotKind } from '../../test/robot-kind.ts';
import { create, openRegistry, patch, type Registry, type Resource } from '../index.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const options = { namespace: 'n', dryRun: false, manager: 'm', warn: () => {}, unknownFields: () => {} };
/** No time passes, so that each write is one step. */
const clock = { ...systemClock, monotonicMs: () => 0 };
let registry: Registry;
let resource: Resource;

beforeEach(async () => {
  registry = openRegistry({
    kinds: [robotKind],
    store: memoryStore(clock),
    keyPrefix: '/registry',
    clock,
    random: seededRandom(7),
    report: () => {},
  });
  resource = registry.resources[0] as Resource;
  const robot = { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'a' } };
  await create(resource, decode(robotKind.schema, robot, () => {}) as KubeObject, options, call);
  await resource.collection.reach(undefined, call);
});
afterEach(() => registry.cache.close());

const decisions: readonly (readonly [string, (object: KubeObject) => unknown, unknown])[] = [
  [
    'a refusal',
    () => {
      throw badRequest('no');
    },
    { code: 400 },
  ],
  ['nothing to do', (object) => object, { created: false, removed: false }],
];

/** How often a patch is decided on; `meanwhile` runs after the first time. */
async function timesDecided(
  decide: (object: KubeObject) => unknown,
  meanwhile: () => void,
): Promise<[number, unknown]> {
  let times = 0;
  const change = inOneStep((object: KubeObject) => {
    if (++times === 1) meanwhile();
    return decide(object);
  });
  const result = await patch(resource, 'a', { ...options, change }, call).catch((error: unknown) => error);
  return [times, result];
}

test.each(decisions)(
  '%s that memory led to is decided once if that is still what is stored',
  async (_, decide, expected) => {
    const [times, result] = await timesDecided(decide, () => {});
    expect(result).toMatchObject(expected as object);
    expect(times).toBe(1);
  },
);

test.each(decisions)('%s is decided again on what was stored meanwhile', async (_, decide, expected) => {
  const [times, result] = await timesDecided(decide, () => {
    const label = inOneStep(({ metadata, ...rest }: KubeObject) => ({
      ...rest,
      metadata: { ...metadata, labels: { b: 'c' } },
    }));
    // The store is asked for the object only after this one has written.
    void patch(resource, 'a', { ...options, change: label }, call);
  });
  expect(result).toMatchObject(expected as object);
  expect(times).toBe(2);
});
