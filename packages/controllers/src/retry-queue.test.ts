import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { RetryQueue } from './retry-queue.ts';

/** A queue whose work ends when the test says so. */
function openQueue({ workers = 2 } = {}) {
  const clock = fakeClock();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const failures: number[] = [];
  const measured = { depth: 0, added: 0, waited: [] as number[], ended: 0 };
  const queue = new RetryQueue<string>({
    clock,
    random: seededRandom(1),
    workers,
    pauses: { firstMs: 100, maxMs: 1_000 },
    work: (key) => {
      begun.push(key);
      const end = Promise.withResolvers<void>();
      ends.set(key, end);
      return end.promise;
    },
    failed: (_, { tries }) => failures.push(tries),
    measures: {
      queued: (keys) => void (measured.depth = keys),
      added: () => void measured.added++,
      began: (waitedSeconds) => {
        measured.waited.push(waitedSeconds);
        return () => void measured.ended++;
      },
    },
  });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const end = async (key: string): Promise<void> => {
    ends.get(key)?.resolve();
    await turn();
  };
  const fail = async (key: string): Promise<void> => {
    ends.get(key)?.reject(new Error('no'));
    await turn();
  };
  return { clock, begun, failures, queue, end, fail, measured };
}

test('as many keys are worked on at a time as there are workers, first come first served', async () => {
  const { queue, begun, end } = openQueue({ workers: 2 });
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
});

test('a key that waits for its turn stands in the queue once', async () => {
  const { queue, begun, end } = openQueue({ workers: 1 });
  for (const key of ['a', 'b', 'b', 'b']) queue.add(key);
  await end('a');
  await end('b');
  expect(begun).toEqual(['a', 'b']);
});

test('a key that is added while it is worked on is worked on once more', async () => {
  const { queue, begun, end } = openQueue({ workers: 2 });
  queue.add('a');
  queue.add('a');
  queue.add('a');
  expect(begun).toEqual(['a']);
  await end('a');
  expect(begun).toEqual(['a', 'a']);
  await end('a');
  expect(begun).toEqual(['a', 'a']);
});

test('a key that failed pauses even if it is added meanwhile, without delaying others', async () => {
  const { queue, begun, fail, end, clock } = openQueue({ workers: 1 });
  queue.add('a');
  queue.add('a');
  await fail('a');
  queue.add('a');
  expect(begun).toEqual(['a']);
  queue.add('b');
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  clock.advance(100);
  expect(begun).toEqual(['a', 'b', 'a']);
});

test('a key that was added again while its work failed frees its worker', async () => {
  const { queue, begun, fail } = openQueue({ workers: 1 });
  queue.add('a');
  queue.add('a');
  queue.add('b');
  await fail('a');
  expect(begun).toEqual(['a', 'b']);
});

test('pauses grow up to their bound and are short again after a success', async () => {
  const { queue, begun, failures, fail, end, clock } = openQueue();
  queue.add('a');
  for (let tries = 1; tries <= 10; tries++) {
    await fail('a');
    expect(begun).toHaveLength(tries);
    clock.advance(1_000);
    expect(begun).toHaveLength(tries + 1);
  }
  await fail('a');
  clock.advance(499);
  expect(begun).toHaveLength(11);
  clock.advance(501);
  await end('a');
  queue.add('a');
  await fail('a');
  clock.advance(100);
  expect(begun).toHaveLength(14);
  expect(failures).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]);
});

test('keys are measured from the time they were added, each as often as it is worked on', async () => {
  const { queue, measured, end, fail, clock } = openQueue({ workers: 1 });
  for (const key of ['a', 'a', 'a', 'b', 'b']) queue.add(key);
  expect(measured).toEqual({ depth: 1, added: 3, waited: [0], ended: 0 });
  clock.advance(2_000);
  await end('a');
  expect(measured).toEqual({ depth: 1, added: 3, waited: [0, 2], ended: 1 });
  await fail('b');
  expect(measured).toEqual({ depth: 0, added: 3, waited: [0, 2, 0], ended: 2 });
});

test('closing waits for running work, begins nothing and leaves no timers', async () => {
  const { queue, begun, end, fail, clock } = openQueue({ workers: 2 });
  for (const key of ['a', 'b', 'c']) queue.add(key);
  await fail('a');
  expect(clock.waiting).toBe(1);
  let closed = false;
  const closing = queue.close().then(() => (closed = true));
  expect(clock.waiting).toBe(0);
  await end('b');
  expect(closed).toBe(false);
  await fail('c');
  await closing;
  queue.add('d');
  clock.advance(10_000);
  expect(clock.waiting).toBe(0);
  expect(begun).toEqual(['a', 'b', 'c']);
});
