import { expect, test } from '@jest/globals';
import { callUntil, seededRandom, sleep } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import { encodeMessage, writeBytes, writeInt64, writeNested } from '../protobuf/fields.ts';
import { EtcdClient } from './client.ts';
import { type Connect, EtcdFault, type UnaryOptions } from './transport.ts';
import { range } from './wire/key-value.ts';
import { memberStatus } from './wire/status.ts';

const endpoints = ['http://one', 'http://two', 'http://three'];

interface Asked extends UnaryOptions {
  readonly endpoint: string;
  readonly path: string;
}

/** Members that do not respond, or refuse connections, except the responsive ones. */
function fakeMembers(
  clock: FakeClock,
  responsive: ReadonlySet<string>,
  refuseConnections: boolean,
): { readonly connect: Connect; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  return {
    asked,
    connect: (endpoint) => ({
      unary: (path, _, options) => {
        asked.push({ endpoint, path, ...options });
        if (responsive.has(endpoint))
          return Promise.resolve(path === memberStatus.path ? versionedStatus : responseHeader);
        if (refuseConnections) return Promise.reject(new EtcdFault('unsent', 14, `${endpoint} refuses connections`));
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

/** A response with a cluster and a revision and nothing else, which is valid for a status and for a range. */
const responseHeader = Buffer.from(
  encodeMessage((to) =>
    writeNested(to, 1, (header) => {
      writeInt64(header, 1, 1);
      writeInt64(header, 3, 7);
    }),
  ),
);
const versionedStatus = Buffer.concat([responseHeader, encodeMessage((to) => writeBytes(to, 2, '3.5.16'))]);

function open(
  seed: number,
  electionTimeoutMs?: number,
  responsive: ReadonlySet<string> = new Set(),
  refuseConnections = false,
) {
  const clock = fakeClock();
  const { connect, asked } = fakeMembers(clock, responsive, refuseConnections);
  const random = seededRandom(seed);
  const client = new EtcdClient({
    endpoints,
    connect,
    clock,
    random,
    ...(electionTimeoutMs !== undefined && { electionTimeoutMs }),
  });
  return { client, clock, asked };
}

/** The outcome of a call while time passes, and how long it took. */
async function settle<T>(clock: FakeClock, call: Promise<T>): Promise<{ outcome: unknown; tookMs: number }> {
  const beganMs = clock.monotonicMs();
  let settled: { outcome: unknown; tookMs: number } | undefined;
  const note = (outcome: unknown): void => {
    settled = { outcome, tookMs: clock.monotonicMs() - beganMs };
  };
  call.then(note, note);
  for (;;) {
    await new Promise(setImmediate);
    if (settled) return settled;
    clock.advance(10);
  }
}

test('replicas start at different members', () => {
  const first = (seed: number): string | undefined => {
    const { client, asked } = open(seed);
    client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch(() => {}); // there is no answer
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

test('replicas stay at different members after each member was restarted in turn', async () => {
  const counts = new Map<string, number>();
  for (let seed = 0; seed < 60; seed++) {
    const responsive = new Set(endpoints);
    const { client, clock, asked } = open(seed, undefined, responsive);
    const read = (): Promise<number> => client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY));
    for (const restarted of endpoints) {
      responsive.delete(restarted);
      expect((await settle(clock, read())).outcome).toBe(7);
      responsive.add(restarted);
      await settle(clock, sleep(clock, 10_000));
    }
    await settle(clock, read());
    const used = asked.findLast(({ path }) => path === range.path)?.endpoint ?? '';
    counts.set(used, (counts.get(used) ?? 0) + 1);
    client.close();
  }
  // The member that was restarted last gets nobody until another one fails.
  for (const endpoint of endpoints.slice(0, 2)) expect(counts.get(endpoint)).toBeGreaterThan(15);
});

test.each([
  { electionTimeoutMs: undefined, attemptMs: 450, statusMs: 400 },
  { electionTimeoutMs: 1_000, attemptMs: 450, statusMs: 400 },
  { electionTimeoutMs: 5_000, attemptMs: 2_250, statusMs: 2_000 },
])(
  'with an election timeout of $electionTimeoutMs an attempt takes $attemptMs ms and a sign of life $statusMs ms',
  ({ electionTimeoutMs, attemptMs, statusMs }) => {
    const { client, asked } = open(1, electionTimeoutMs);
    client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch(() => {}); // there is no answer
    const times = (of: string): number[] => asked.filter(({ path }) => path === of).map(({ timeoutMs }) => timeoutMs);
    // Without a majority no attempt takes longer than all of them may.
    const firstMs = Math.min(attemptMs, 1_800);
    expect(times(range.path)).toEqual([firstMs]);
    // The last one reads the version of the member that is asked.
    expect(times(memberStatus.path)).toEqual([...endpoints.map(() => statusMs), firstMs]);
    client.close();
  },
);

test.each([1_000, 5_000])(
  'with an election timeout of %d ms, a call without any response fails within 2 s',
  async (electionTimeoutMs) => {
    const { client, clock } = open(1, electionTimeoutMs);
    const { outcome, tookMs } = await settle(clock, client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)));
    expect(outcome).toBeInstanceOf(StorageUnavailableError);
    expect(tookMs).toBeLessThanOrEqual(2_000);
    client.close();
  },
);

test.each([1_000, 5_000, 10_000])(
  'with an election timeout of %d ms, a call continues at another member if one hangs after a quiet time',
  async (electionTimeoutMs) => {
    const responsive = new Set(endpoints);
    const { client, clock, asked } = open(1, electionTimeoutMs, responsive);
    const read = (): Promise<number> => client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY));
    expect((await settle(clock, read())).outcome).toBe(7);
    const used = asked.findLast(({ path }) => path === range.path)?.endpoint ?? '';
    clock.advance(3 * electionTimeoutMs);
    responsive.delete(used);
    const { outcome, tookMs } = await settle(clock, read());
    expect(outcome).toBe(7);
    expect(tookMs).toBeLessThan(electionTimeoutMs);
    client.close();
  },
);

test('a member that refuses connections is probed every five election timeouts, however many calls have failed', async () => {
  const responsive = new Set<string>();
  const { client, clock, asked } = open(1, 1_000, responsive, true);
  for (let n = 0; n < 20; n++) client.readLatestRevision(callUntil(Number.POSITIVE_INFINITY)).catch(() => {});
  await settle(clock, sleep(clock, 2_000));
  for (const endpoint of endpoints.slice(1)) responsive.add(endpoint);
  await settle(clock, sleep(clock, 10_000));
  const before = asked.length;
  await settle(clock, sleep(clock, 60_000));
  const probes = asked
    .slice(before)
    .filter(({ endpoint, path }) => endpoint === endpoints[0] && path === memberStatus.path);
  expect(probes.length).toBeGreaterThan(10);
  expect(probes.length).toBeLessThan(14);
  client.close();
});
