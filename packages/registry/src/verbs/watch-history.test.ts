import { describe, expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import { revision } from '@cluster-apiserver/storage';
import { update, type WatchReader } from '../index.ts';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { call } from '../../test/use-robots.ts';
import { labelled, next, optionsFor, robot, useWatchedRobots } from '../../test/use-watched-robots.ts';

const watched = useWatchedRobots();
const { begin, make, open, put, settled, switchReplica } = watched;

describe('changes that are too old for memory', () => {
  test('are read from the history of the store, and then from memory', async () => {
    const first = await make('a');
    for (let n = 0; n < 5_200; n++) await put('a', { n: String(n) });
    await switchReplica();
    const watching = await begin({ resourceVersion: String(first) });
    expect(watching.take()).toBeUndefined();
    const lines = await next(watching, 5_200);
    expect(new Set(lines)).toEqual(new Set(['MODIFIED a']));
    await make('b');
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    await settled();
    expect(watching.take()).toBeUndefined();
    expect(watching.reached).toBeDefined();
  });

  test('are read from the store by few watchers at a time, and by all that missed them, whatever they select', async () => {
    const first = await make('a');
    for (let n = 0; n < 5_200; n++) await put('a', { n: String(n) });
    await make('other', {}, 'other');
    const readers = new Set<AbortSignal>();
    let readersMax = 0;
    await watched.registry.cache.close();
    open({
      ...watched.memory,
      watch: (prefix, after, signal, options) => {
        if (options?.withPrevious !== false) readers.add(signal);
        readersMax = Math.max(readersMax, [...readers].filter(({ aborted }) => !aborted).length);
        return watched.memory.watch(prefix, after, signal, options);
      },
    });
    const selections = [{}, { namespace: 'other' }, { labels: labelled('n') }, { namespace: undefined }];
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => begin({ resourceVersion: String(first), ...selections[n % 4] })),
    );
    const sent = await Promise.all(
      all.map(async (watching, at) => {
        const lines = await next(watching, at % 4 === 1 ? 1 : 5_200);
        watching.close();
        return lines[0];
      }),
    );
    expect(sent.slice(0, 4)).toEqual(['MODIFIED a', 'ADDED other', 'ADDED a', 'MODIFIED a']);
    expect(readers.size).toBe(20);
    expect(readersMax).toBe(8);
  });

  test('and for the store ends the watch as expired', async () => {
    const first = await make('a');
    await put('a', { n: '1' });
    const last = await put('a', { n: '2' });
    watched.memory.compact(last as Parameters<typeof watched.memory.compact>[0]);
    await switchReplica();
    const error = await next(await begin({ resourceVersion: String(first) }), 1).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({
      code: 410,
      reason: 'Expired',
      message: `too old resource version: ${first} (${last - 1})`,
    });
  });

  test('end the watch of a reader that was once in step and can reconnect', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')) });
    expect(watching.take()).toBeUndefined();
    const large = 'x'.repeat(60_000);
    for (let n = 0; n < 700; n++) {
      await update(
        watched.resource,
        'a',
        { ...robot('a', {}), metadata: { name: 'a', annotations: { large, n: String(n) } } },
        optionsFor('n'),
        call,
      );
      if (n % 100 === 0) await settled();
    }
    await settled();
    expect(watching.take()).toBeUndefined();
    expect(watching.end).toBe('behind');
  });
});

test('when the storage turns out to have another history, every watch ends as expired, in step or not', async () => {
  await make('a');
  const at = await make('b');
  const watchings = [await begin(), await begin({ resourceVersion: String(at) }), await begin({ namespace: 'empty' })];
  await next(watchings[0] as WatchReader, 2);
  const ends = watchings.map(
    (watching) =>
      new Promise<unknown>((resolve) => {
        const look = (): void => {
          try {
            while (watching.take()) {
              // Cached parts of before must not be sent again.
            }
            watching.wait(look);
          } catch (error) {
            resolve(error);
          }
        };
        look();
      }),
  );
  watched.memory.restore(revision(at - 1));
  // In this turn, because memory is loaded again soon.
  const refused = begin({ resourceVersion: String(at) }).catch((error: unknown) => error);
  expect(await refused).toMatchObject({ reason: 'ServiceUnavailable' });
  for (const end of ends) expect(await end).toMatchObject({ reason: 'Expired' });
});

test('when all that a replica knew is compacted, a watch from a later version of another replica goes on', async () => {
  await make('a');
  const known = await make('b');
  const watching = await begin({ resourceVersion: String(known) });
  expect(watching.take()).toBeUndefined();
  const later = await make('c');
  await make('d');
  watched.memory.compactKnown(revision(known));
  expect(() => watching.take()).toThrow('too old resource version');
  await untilTurned(() => watched.registry.cache.isSynced);
  const resumed = await begin({ resourceVersion: String(later) });
  expect(await next(resumed, 1)).toEqual(['ADDED d']);
  // The replica was cut off before it learned of this version, which the client has from another one.
  watched.memory.compactKnown(revision(later - 1));
  expect(resumed.take()).toBeUndefined();
  expect(resumed.end).toBe('behind');
});

test('a watch from a version that only the data before a restore had ends as expired', async () => {
  const kept = await make('a');
  const lost = await make('b');
  watched.memory.restore(revision(kept));
  await untilTurned(() => watched.registry.cache.isSynced);
  const begun = await begin({ resourceVersion: String(lost) });
  expect(() => begun.take()).toThrow('too old resource version');
  // Another version has the same number now.
  const again = await make('c');
  expect(again).toBe(lost);
  const valid = await begin({ resourceVersion: String(again) });
  expect(valid.take()).toBeUndefined();
  await make('d');
  expect(await next(valid, 1)).toEqual(['ADDED d']);
});

test('cached parts of one history are not sent to a watch of another one that begins at the same revision', async () => {
  const from = await make('a');
  await make('past');
  expect(await next(await begin({ resourceVersion: String(from) }), 1)).toEqual(['ADDED past']);
  watched.memory.restore(revision(from));
  await untilTurned(() => watched.registry.cache.isSynced);
  await make('present');
  await settled();
  expect(await next(await begin({ resourceVersion: String(from) }), 1)).toEqual(['ADDED present']);
});
