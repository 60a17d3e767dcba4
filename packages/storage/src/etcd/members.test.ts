import { expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import { openEtcdClient } from './client.ts';
import { type Connect, EtcdFault, type UnaryOptions } from './transport.ts';
import { range } from './wire/key-value.ts';
import { memberStatus } from './wire/status.ts';

const endpoints = ['http://one', 'http://two', 'http://three'];

interface Asked extends UnaryOptions {
  readonly endpoint: string;
  readonly path: string;
}

/** Members that never respond. */
function silentMembers(clock: FakeClock): { readonly connect: Connect; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  return {
    asked,
    connect: (endpoint) => ({
      unary: (path, _, options) => {
        asked.push({ endpoint, path, ...options });
        return new Promise((_, reject) => {
          clock.after(options.timeoutMs, () => reject(new EtcdFault('lost', 14, `${endpoint} is silent`)));
        });
      },
      openStream: () => ({ send: () => {}, messages: (async function* () {})(), close: () => {} }),
      connectionNumber: 1,
      close: () => {},
    }),
  };
}

function open(seed: number, electionTimeoutMs?: number) {
  const clock = fakeClock();
  const { connect, asked } = silentMembers(clock);
  const random = seededRandom(seed);
  const client = openEtcdClient({
    endpoints,
    connect,
    clock,
    random,
    ...(electionTimeoutMs !== undefined && { electionTimeoutMs }),
  });
  return { client, clock, asked };
}

test('replicas start at different members', () => {
  const first = (seed: number): string | undefined => {
    const { client, asked } = open(seed);
    client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch(() => {}); // nobody answers
    const [one] = asked.filter(({ path }) => path === range.path);
    client.close();
    return one?.endpoint;
  };
  const counts = Map.groupBy(
    Array.from({ length: 300 }, (_, seed) => first(seed)),
    (endpoint) => endpoint,
  );
  for (const endpoint of endpoints) expect(counts.get(endpoint)?.length).toBeGreaterThan(60);
});

test.each([
  { electionTimeoutMs: undefined, attemptMs: 450, statusMs: 400 },
  { electionTimeoutMs: 1_000, attemptMs: 450, statusMs: 400 },
  { electionTimeoutMs: 5_000, attemptMs: 2_250, statusMs: 2_000 },
])(
  'with an election timeout of $electionTimeoutMs an attempt takes $attemptMs ms and a sign of life $statusMs ms',
  ({ electionTimeoutMs, attemptMs, statusMs }) => {
    const { client, asked } = open(1, electionTimeoutMs);
    client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch(() => {}); // nobody answers
    const times = (of: string): number[] => asked.filter(({ path }) => path === of).map(({ timeoutMs }) => timeoutMs);
    // Without a majority no attempt takes longer than all of them may.
    expect(times(range.path)).toEqual([Math.min(attemptMs, 1_800)]);
    expect(times(memberStatus.path)).toEqual(endpoints.map(() => statusMs));
    client.close();
  },
);

test('without any response a call fails in time, whatever the election timeout', async () => {
  for (const electionTimeoutMs of [1_000, 5_000]) {
    const { client, clock } = open(1, electionTimeoutMs);
    const beganMs = clock.monotonicMs();
    let failedMs: number | undefined;
    const failed = client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch((error: unknown) => {
      failedMs = clock.monotonicMs() - beganMs;
      return error;
    });
    while (failedMs === undefined) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
    expect(await failed).toBeInstanceOf(StorageUnavailableError);
    expect(failedMs).toBeLessThanOrEqual(2_000);
    client.close();
  }
});
