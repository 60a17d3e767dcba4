/**
 * Measures what it takes to serve watches that are resumed at the surviving replicas after one of three was killed, each at
 * its last revision: the time until all of them have the next event, the CPU time of the replicas, and how long the
 * requests of another client take meanwhile. First with 100 watches on an HTTP/2 connection, then fewer with a connection for
 * each.
 *
 *   ETCD_BIN=… node --conditions=source packages/tests/bench/resumed-watches.ts [watches, 10000 by default]
 */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { requireValue, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Credentials, http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { readProcessorMs } from './hostile/processor-use.ts';
import { startReplicas, type Replica, type Replicas } from '../test/operations/replicas.ts';

const [watchesMax = 10_000] = process.argv.slice(2).map(Number);
/** This process needs a millisecond or two for each handshake, and replicas end one that takes longer than ten seconds. */
const connectionsMax = 2_000;
/** Connections that open at the same time before the fault; after it all do. */
const batch = 50;
const politeMs = 10;
const collection = '/api/v1/namespaces/default/configmaps';

if (isMainThread) await main();
else await sendPolitely(workerData as PoliteLoad);

async function main(): Promise<void> {
  const etcd = await startEtcd();
  try {
    for (const perConnection of [100, 1]) {
      const replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}, {}] });
      try {
        await measure(replicas, perConnection);
      } finally {
        await replicas.stop();
      }
    }
  } finally {
    await etcd.stop();
  }
}

async function measure(replicas: Replicas, perConnection: number): Promise<void> {
  const watches = Math.min(watchesMax, connectionsMax * perConnection);
  const [victim, ...survivors] = replicas.all as [Replica, Replica, Replica];
  const client = http1Client(survivors[0]?.url ?? '', replicas);
  const revision = await write('before');
  const own: ClientHttp2Session[] = [];
  const connections = watches / perConnection;
  while (own.length < connections) {
    const some = Array.from({ length: Math.min(batch, connections - own.length) }, () => connectTo(victim));
    await Promise.all(some.map((session) => openWatches(session)));
    own.push(...some);
  }
  const polite = new Worker(new URL(import.meta.url), {
    workerData: {
      url: `${requireValue(survivors[0]).url}${collection}/before-${perConnection}`,
      ca: replicas.ca,
      token: replicas.token,
    } satisfies PoliteLoad,
  });
  const politeTimes = async (): Promise<readonly number[]> => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
    polite.postMessage('take');
    const [took] = (await once(polite, 'message')) as [readonly number[]];
    return took;
  };
  await sleep(clock, 2_000);
  const before = await politeTimes();
  const closed = Promise.all(own.map((session) => (session.closed ? Promise.resolve() : once(session, 'close'))));
  const usedMs = processorMs();
  await victim.end('SIGKILL');
  await closed;
  const beganMs = clock.monotonicMs();
  const resumed = own.map((_, at) => connectTo(requireValue(survivors[at % survivors.length])));
  const received = Promise.all(resumed.map((session) => openWatches(session, revision)));
  await write('after');
  await received;
  const tookMs = clock.monotonicMs() - beganMs;
  const costMs = processorMs() - usedMs;
  const during = await politeTimes();
  console.log(
    `${watches} watches, ${perConnection} on a connection: all have the next event after ${(tookMs / 1000).toFixed(1)} s; ` +
      `${((costMs * 1000) / watches).toFixed(0)} us of CPU time each; ` +
      `gets of another client ${describe(before)} before, ${describe(during)} meanwhile`,
  );
  await polite.terminate();
  client.close();
  for (const session of [...own, ...resumed]) session.destroy();

  function connectTo({ url }: Replica): ClientHttp2Session {
    const session = connect(url, { ca: replicas.ca });
    session.on('error', () => {}); // the killed replica
    return session;
  }

  async function write(name: string): Promise<string> {
    const body = await requireSuccess(client, 'POST', collection, {
      body: { metadata: { name: `${name}-${perConnection}` } },
    });
    return (JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  }

  /** Resolves when all are open, or if they resume, when each has its first event. */
  function openWatches(session: ClientHttp2Session, resumesAt?: string): Promise<unknown> {
    return Promise.all(Array.from({ length: perConnection }, () => openWatch(session, resumesAt)));
  }

  async function openWatch(session: ClientHttp2Session, resumesAt?: string): Promise<void> {
    const stream = session.request({
      ':path': `${collection}?watch=true&resourceVersion=${resumesAt ?? revision}`,
      authorization: `Bearer ${replicas.token}`,
    });
    stream.on('error', () => {});
    const event = once(stream, 'data');
    event.catch(() => {});
    const [headers] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
    if (headers[':status'] !== 200) throw new Error(`watch: HTTP ${headers[':status']}`);
    if (resumesAt) await event;
    stream.resume();
  }

  function processorMs(): number {
    return survivors.reduce((sum, { pid }) => sum + readProcessorMs(pid), 0);
  }
}

interface PoliteLoad extends Credentials {
  readonly url: string;
}

/** In a thread of its own: that of the watches is busy. Sends back how long its requests took. */
async function sendPolitely({ url, ca, token }: PoliteLoad): Promise<void> {
  const client = http1Client(new URL(url).origin, { ca: Buffer.from(ca), token });
  let took: number[] = [];
  parentPort?.on('message', () => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
    parentPort?.postMessage(took);
    took = [];
  });
  for (;;) {
    const sentMs = clock.monotonicMs();
    await requireSuccess(client, 'GET', new URL(url).pathname);
    took.push(clock.monotonicMs() - sentMs);
    await sleep(clock, politeMs);
  }
}

function describe(took: readonly number[]): string {
  const sorted = took.toSorted((one, other) => one - other);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms of ${sorted.length}`;
}
