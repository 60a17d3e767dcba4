import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { until, untilTurned } from '@cluster-apiserver/testkit/until';
import { usedBufferBytes } from '@cluster-apiserver/testkit/garbage';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { callUntil, LatencyTracker, requireValue, seededRandom, systemClock } from '@cluster-apiserver/base';
import { decode } from '@cluster-apiserver/model/schema';
import { create, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type Served, serve } from '../../test/listener.ts';
import { parseRequestInfo } from '../request-info.ts';
import { openTestRegistry } from '../../../registry/test/open-test-registry.ts';
import { robotKind } from '../../../registry/test/robot-kind.ts';
import { OpenWatches } from './open-watches.ts';
import { watchHandler } from './watch.ts';

// Real sockets whose clients read nothing: over HTTP/2 with a window of zero, over HTTP/1.1 without reading the socket.

const call = callUntil(Number.POSITIVE_INFINITY);
/** Together more than the kernel buffers for one connection. */
const objects = 200;
const objectBytes = 100_000;
const watches = 200;
const slowTestMs = 60_000;
const target = '/api/v1/namespaces/n/robots?watch=true';

let memory: ReturnType<typeof memoryStore>;
let registry: Registry;
let served: Served;
let clock: FakeClock;
let open: number;
let ends: unknown[];

beforeEach(async () => {
  memory = memoryStore(systemClock);
  clock = fakeClock();
  const random = seededRandom(1);
  registry = openTestRegistry(robotKind, memory, systemClock, random);
  const resource = registry.api.stored[0] as Resource;
  open = 0;
  ends = [];
  const handler = watchHandler(resource, {
    clock,
    random,
    minRequestTimeoutMs: 1_800_000,
    openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
    measures: {
      begin: () => {
        open += 1;
        return {
          countSent: () => {},
          countStalled: () => {},
          end: (why) => {
            open -= 1;
            ends.push(why);
          },
        };
      },
    },
    report: () => {},
  });
  served = await serve(
    (request) =>
      handler({
        request,
        call,
        latency: new LatencyTracker(clock),
        auditId: 'a',
        info: parseRequestInfo('GET', request.target),
        user: { name: 'tester', groups: [] },
        warnings: new Set(),
      }),
    clock,
    { streamsMax: watches },
  );
  const options = { namespace: 'n', dryRun: false, manager: 'm', warn: () => {} };
  for (let n = 0; n < objects; n++) {
    const metadata = { name: `r${n}`, annotations: { large: 'x'.repeat(objectBytes) } };
    const robot = decode(robotKind.schema, { kind: 'Robot', apiVersion: 'v1', metadata }, () => {});
    await create(resource, robot, options, call);
  }
});
afterEach(async () => {
  await served.close();
  await registry.cache.close();
  memory.close();
});

/** Streams on one connection, each with a window of this size. */
async function openStreams(count: number, windowBytes: number): Promise<ClientHttp2Stream[]> {
  const session: ClientHttp2Session = connect(`https://127.0.0.1:${served.listener.port}`, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: windowBytes },
  });
  session.on('error', () => {});
  onClose.push(() => session.destroy());
  let begun = 0;
  const streams = Array.from({ length: count }, () => session.request({ ':path': target }));
  for (const stream of streams) stream.on('error', () => {}).on('response', () => (begun += 1));
  await untilTurned(() => begun === count);
  return streams;
}

/**
 * The kernel accepts some bytes late, so progress may stop only after several sweeps. Meanwhile the client answers pings:
 * when the server answers the second ping of the client, it has received all earlier answers.
 */
async function letTimePass(stream: ClientHttp2Stream | undefined, isOver: () => boolean): Promise<void> {
  const session = requireValue(stream?.session);
  const ping = (): Promise<unknown> => new Promise((answered) => session.ping(answered));
  await untilTurned(async () => {
    clock.advance(30_000);
    await ping();
    await ping();
    return isOver();
  });
}

const onClose: (() => void)[] = [];
afterEach(() => {
  for (const close of onClose.splice(0)) close();
});

test(
  'unread streams of HTTP/2 hold little more than one copy of what they share, and are cut off after a minute',
  async () => {
    const before = usedBufferBytes();
    const streams = await openStreams(watches, 0);
    expect(open).toBe(watches);
    // A batch for each of them would be 20 MB, and stay. What the sockets still take is above that for a moment.
    await until('little memory', () => usedBufferBytes() - before < 5_000_000 || undefined);
    await letTimePass(streams[0], () => open === 0);
    await untilTurned(() => streams.every(({ closed }) => closed));
    // Otherwise clients would see a regular end.
    for (const { rstCode } of streams) expect(rstCode).not.toBe(0);
    expect(ends).toEqual(Array(watches).fill('stalled'));
    expect(served.reports).toEqual([]);
  },
  slowTestMs,
);

test(
  'an unread HTTP/1.1 stream is cut off, and one that is read continues',
  async () => {
    const stopped = await served.raw();
    stopped.socket.pause();
    stopped.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [reading] = await openStreams(1, 1_000_000);
    let bytes = 0;
    reading?.on('data', (piece: Buffer) => (bytes += piece.length));
    await untilTurned(() => bytes > objects * objectBytes);
    await untilTurned(() => open === 2);
    await letTimePass(reading, () => open === 1);
    expect(reading?.closed).toBe(false);
    expect(ends).toEqual(['stalled']);
    reading?.close();
    expect(served.reports).toEqual([]);
  },
  slowTestMs,
);
