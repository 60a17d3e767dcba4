/**
 * A store, a world of accounts and events, and the collectors of one test, made anew for each. The collectors see the
 * store through disturbances; the test writes to it directly.
 */
import { callUntil } from '@cluster-apiserver/base';
import { afterEach, beforeEach } from '@jest/globals';
import type { KubeObject, OwnerReference } from '@cluster-apiserver/model/kind';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type DisturbedStore, disturbedStore } from './disturbed-store.ts';
import { turn, until } from './turns.ts';
import { type Collecting, createWorld, type World } from './world.ts';

export let clock: FakeClock;
export let store: DisturbedStore;
export let memory: ReturnType<typeof memoryStore>;
export let world: World;
export let running: Collecting[];

beforeEach(() => {
  clock = fakeClock();
  // The store has a clock of its own: only the collector waits for the clock of the test.
  memory = memoryStore(fakeClock());
  store = disturbedStore(memory);
  world = createWorld({ store: memory, clock, call: () => callUntil(Number.POSITIVE_INFINITY) });
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await world.close();
  memory.close();
});

/** Everything that follows from what happened so far, short of what waits for the clock, has happened. */
export async function settled(): Promise<void> {
  for (let quietTurns = 0, seen = ''; quietTurns < 50; quietTurns++) {
    await turn();
    const now = JSON.stringify(store.asked);
    if (now !== seen) quietTurns = 0;
    seen = now;
  }
}

export async function collect(): Promise<Collecting> {
  const collecting = world.collect(store);
  running.push(collecting);
  await until('the collector knows everything', () => collecting.synced);
  return collecting;
}

/** The watch cache pauses before it lists again. */
export const watchLost = (): Promise<void> => until('the watch is lost', () => clock.waiting === 1);

export const gone = async (...objects: KubeObject[]): Promise<boolean> =>
  (await Promise.all(objects.map((object) => world.read(object)))).every((object) => object === undefined);
export const untilGone = (...objects: KubeObject[]): Promise<void> =>
  until(`the end of ${objects.map(({ metadata }) => metadata.name).join(', ')}`, () => gone(...objects));
export const ownersOf = async (object: KubeObject): Promise<OwnerReference[] | undefined> =>
  (await world.read(object))?.metadata.ownerReferences;

export const withoutFinalizers = (metadata: KubeObject['metadata']): KubeObject['metadata'] => ({
  ...metadata,
  finalizers: [],
});
