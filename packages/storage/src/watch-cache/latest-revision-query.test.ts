import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import { LatestRevisionQuery } from './latest-revision-query.ts';

interface World {
  readonly clock: FakeClock;
  readonly query: LatestRevisionQuery;
  /** The queries in flight, each answered by its test. */
  readonly sent: PromiseWithResolvers<Revision>[];
  /** Which readers got which revision, or failed. */
  readonly results: string[];
  read(name: string): Promise<void>;
}

function open(): World {
  const clock = fakeClock();
  const sent: PromiseWithResolvers<Revision>[] = [];
  const results: string[] = [];
  const query = new LatestRevisionQuery({
    clock,
    store: {
      readLatestRevision: () => {
        const response = Promise.withResolvers<Revision>();
        sent.push(response);
        return response.promise;
      },
    },
    onRevision: (latest, readers) => {
      results.push(`${latest}:`);
      for (const { resolve } of readers) resolve();
    },
    onUnavailable: () => results.push('unavailable'),
  });
  return {
    ...{ clock, query, sent, results },
    read: async (name) => {
      query.add({
        call: callUntil(clock.monotonicMs() + 60_000),
        arrivedMs: clock.monotonicMs(),
        resolve: () => results.push(name),
        reject: () => results.push(`${name} failed`),
      });
      await settle();
    },
  };
}

/** Lets queries that were requested be sent. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

async function answer({ sent, clock }: World, at: number, latest: number): Promise<void> {
  clock.advance(1);
  sent[at]?.resolve(revision(latest));
  await settle();
}

test('readers that arrive while a query is in flight share the next one', async () => {
  const world = open();
  await world.read('first');
  await world.read('second');
  await world.read('third');
  expect(world.sent).toHaveLength(1);
  await answer(world, 0, 10);
  expect(world.results).toEqual(['10:', 'first']);
  await answer(world, 1, 11);
  expect(world.results).toEqual(['10:', 'first', '11:', 'second', 'third']);
  expect(world.sent).toHaveLength(2);
});

test('a query that is in flight for long does not hold up later readers, and each gets the answer to its own', async () => {
  const world = open();
  await world.read('first');
  world.clock.advance(2);
  await world.read('second');
  expect(world.sent).toHaveLength(2);
  await answer(world, 1, 11);
  expect(world.results).toEqual(['11:', 'second']);
  await answer(world, 0, 10);
  expect(world.results).toEqual(['11:', 'second', '10:', 'first']);
});

test('four queries are in flight at most, and the end of any of them sends the next one', async () => {
  const world = open();
  for (const name of ['1', '2', '3', '4', '5', '6']) {
    await world.read(name);
    world.clock.advance(2);
  }
  expect(world.sent).toHaveLength(4);
  await answer(world, 2, 12);
  expect(world.sent).toHaveLength(5);
  await answer(world, 4, 13);
  expect(world.results).toEqual(['12:', '3', '13:', '5', '6']);
});

test('a query that finds etcd unavailable fails readers that were queued for long, and the others get the next one', async () => {
  const world = open();
  await world.read('first');
  await world.read('second');
  world.clock.advance(500);
  for (const name of ['third', 'fourth', 'fifth']) {
    await world.read(name);
    world.clock.advance(2);
  }
  await world.read('queued early');
  world.clock.advance(1_000);
  await world.read('queued late');
  expect(world.sent).toHaveLength(4);
  world.sent[0]?.reject(new StorageUnavailableError('etcd does not respond'));
  await settle();
  expect(world.results).toEqual(['first failed', 'queued early failed', 'unavailable']);
  await answer(world, 4, 10);
  expect(world.results.slice(3)).toEqual(['10:', 'queued late']);
});

test('a probe sends a query only if none is in flight', async () => {
  const world = open();
  world.query.probe();
  await settle();
  world.clock.advance(100);
  world.query.probe();
  await settle();
  expect(world.sent).toHaveLength(1);
  await answer(world, 0, 10);
  world.query.probe();
  await settle();
  expect(world.sent).toHaveLength(2);
});
