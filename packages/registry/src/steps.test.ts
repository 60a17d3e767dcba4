import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { callUntil, type Clock, seededRandom, systemClock } from '@cluster-apiserver/base';
import { decode, type KubeObject, readApplied } from '@cluster-apiserver/model';
import { memoryStore } from '@cluster-apiserver/storage';
import { robotKind } from '../test/robot-kind.ts';
import { apply, create, openRegistry, patch, type Registry, replace, type Resource } from './index.ts';

let turns = 0;
const clock: Clock = {
  ...systemClock,
  // What the watch cache does meanwhile takes no time, and so no turn.
  monotonicMs: () => 0,
  soon: (callback) => {
    turns++;
    setImmediate(callback);
  },
};
const call = callUntil(Number.POSITIVE_INFINITY);
const options = { namespace: 'n', dryRun: false, manager: 'm', warn: () => {} };
const names = { kind: 'Robot', apiVersion: 'v1' };
let registry: Registry;
let resource: Resource;

beforeEach(() => {
  registry = openRegistry({
    kinds: [robotKind],
    store: memoryStore(systemClock),
    keyPrefix: '/registry',
    clock,
    random: seededRandom(7),
    report: () => {},
  });
  resource = registry.resources[0] as Resource;
});
afterEach(() => registry.cache.close());

const metadataOf = (annotations: number, value: string): object => ({
  name: 'a',
  annotations: Object.fromEntries(Array.from({ length: annotations }, (_, i) => [`key-${i}`, value])),
});
const robot = (annotations: number, value: string): KubeObject =>
  decode(robotKind.schema, { ...names, metadata: metadataOf(annotations, value) }, () => {}) as KubeObject;

const small = 10;
const large = 3_000;

const writes: readonly (readonly [string, (annotations: number) => Promise<unknown>])[] = [
  ['replace', (annotations) => replace(resource, 'a', robot(annotations, 'replaced'), options, call)],
  [
    'patch',
    (annotations) =>
      patch(
        resource,
        'a',
        {
          ...options,
          change: (current) => ({ ...current, metadata: metadataOf(annotations, 'patched') }),
          unknownFields: () => {},
        },
        call,
      ),
  ],
  [
    'apply',
    (annotations) => {
      const applied = readApplied(robotKind.schema, { ...names, metadata: metadataOf(annotations, 'x') }, () => {});
      return apply(resource, 'a', applied, { ...options, force: true }, call);
    },
  ],
];

const turnsOf = async (write: () => Promise<unknown>): Promise<number> => {
  turns = 0;
  await write();
  return turns;
};

test.each(writes)('the steps of a %s of a large object have turns of their own', async (_, write) => {
  expect(await turnsOf(() => create(resource, robot(large, 'x'), options, call))).toBeGreaterThanOrEqual(2);
  await resource.collection.reach(undefined, call);
  expect(await turnsOf(() => write(large))).toBeGreaterThanOrEqual(2);
});

test.each(writes)('a %s of a small object is one step', async (_, write) => {
  expect(await turnsOf(() => create(resource, robot(small, 'x'), options, call))).toBe(0);
  await resource.collection.reach(undefined, call);
  expect(await turnsOf(() => write(small))).toBe(0);
});
