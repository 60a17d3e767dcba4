import { expect, test } from '@jest/globals';
import { seededRandom, sleep } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { Election } from './election.ts';
import { History } from './history.ts';
import { type ConditionalWrite, conditionalWrite, type KeyValue, range, type RangeRequest } from './wire/key-value.ts';
import { grantLease, keepLeaseAlive } from './wire/lease.ts';

/** With split votes, and a response of the new leader after that. */
const etcdElectionTimeouts = 4;

const stepMs = 100;

/** An etcd that serves no call while it elects its leader. */
function openElectingEtcd(clock: FakeClock, electionTimeoutMs: number): { client: EtcdClient; elect: () => void } {
  const stored = new Map<string, KeyValue>();
  let servesFromMs = 0;
  const handlers = new Map<unknown, (request: never) => unknown>([
    [range, ({ key }: RangeRequest) => ({ values: [stored.get(`${key}`)].filter((found) => found !== undefined) })],
    [
      conditionalWrite,
      ({ key: first, others = [], lease }: ConditionalWrite) => {
        for (const { key } of [{ key: first }, ...others])
          stored.set(key, { key, value: Buffer.alloc(0), createRevision: 1, modRevision: 1, lease });
        return { applied: true, header: { revision: 1 } };
      },
    ],
    [grantLease, () => undefined],
    [keepLeaseAlive, () => 1],
  ]);
  const client = {
    clock,
    random: seededRandom(1),
    electionTimeoutMs,
    history: new History(),
    call: async (rpc: unknown, request: never, { deadlineMs }: Call) => {
      const waitMs = Math.min(servesFromMs, deadlineMs) - clock.monotonicMs();
      if (waitMs > 0) await sleep(clock, waitMs);
      if (clock.monotonicMs() < servesFromMs) throw new StorageUnavailableError('etcd has no leader');
      return handlers.get(rpc)?.(request);
    },
  };
  return {
    client: client as unknown as EtcdClient, // an election uses nothing else of it
    elect: () => {
      servesFromMs = clock.monotonicMs() + etcdElectionTimeouts * electionTimeoutMs;
    },
  };
}

async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    clock.advance(stepMs);
    await new Promise(setImmediate);
  }
}

test.each([100, 1_000, 5_000])(
  'with an election timeout of %d ms, a leader keeps its term while etcd elects its own leader',
  async (electionTimeoutMs) => {
    const clock = fakeClock();
    const { client, elect } = openElectingEtcd(clock, electionTimeoutMs);
    const terms: AbortSignal[] = [];
    const lead = (term: AbortSignal): void => void terms.push(term);
    const election = new Election({ client, key: '/election', identity: 'one', lead });
    await advance(clock, stepMs);
    // At different moments between two renewals.
    for (let moment = 0; moment < 10; moment++) {
      elect();
      await advance(clock, electionTimeoutMs * 11 + 700);
      expect(election.isLeading).toBe(true);
    }
    expect(terms).toHaveLength(1);
    expect(terms[0]?.aborted).toBe(false);
    void election.close();
    await advance(clock, stepMs);
  },
);
