import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { revision } from '../revision.ts';
import type { EtcdClient } from './client.ts';
import { watchEtcd } from './etcd-watch.ts';
import { History } from './history.ts';
import { identity } from '../transform/transformer.ts';
import { EtcdFault } from './transport.ts';

test('a watch that finds no leader for long tries again soon enough for the reads that wait for it', async () => {
  const clock = fakeClock();
  const attemptsMs: number[] = [];
  const client: Partial<EtcdClient> = {
    clock,
    random: seededRandom(1),
    history: new History(),
    openStream: () => {
      attemptsMs.push(clock.monotonicMs());
      return Promise.reject(new EtcdFault('refused', 14, 'etcdserver: no leader'));
    },
    noteWatchOutcome: () => {},
  };
  const leaving = new AbortController();
  const watch = watchEtcd(client as EtcdClient, identity, {
    prefix: '/a/',
    after: revision(1),
    signal: leaving.signal,
    withPrevious: false,
    ownWrites: undefined,
    needs: () => true,
    progress: { add: () => () => {} },
  });
  const ended = watch.next();
  for (let passedMs = 0; passedMs < 5_000; passedMs += 10) {
    await new Promise(setImmediate);
    clock.advance(10);
  }
  leaving.abort();
  await ended;
  const pausesMs = attemptsMs.slice(1).map((atMs, before) => atMs - (attemptsMs[before] ?? 0));
  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(210);
  // Not so often that it is a load.
  expect(attemptsMs.length).toBeLessThan(60);
});
