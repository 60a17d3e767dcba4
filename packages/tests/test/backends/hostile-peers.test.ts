/** Backends that speak gRPC: what a peer does that is none costs its calls, and the next server is used. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { http2Connect, kmsV2Service } from '@cluster-apiserver/storage';
import { openTracer } from '@cluster-apiserver/telemetry';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { hostilePeers } from '@cluster-apiserver/testkit/hostile-backend';
import { type HostileProcess, startHostileProcess } from '@cluster-apiserver/testkit/hostile-process';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { countTurns } from '@cluster-apiserver/testkit/turns';
import { until } from '@cluster-apiserver/testkit/until';

let cleanup = new CleanupStack();
afterEach(async () => {
  await cleanup.close((what, error) => console.error(what, error));
  cleanup = new CleanupStack();
});

let hostile: HostileProcess;
beforeAll(async () => {
  hostile = await startHostileProcess();
});
afterAll(() => hostile.stop());

const grownBytesMax = 16 * 1024 * 1024;
/** What Node reads from a connection before others have their turn. */
const readBytesMax = 2 * 1024 * 1024;
const peers = Object.keys(hostilePeers);

describe('A KMS plugin that', () => {
  test.each(peers)('%s fails its calls in their time, and the next plugin is used', async (name) => {
    const socket = path.join(os.tmpdir(), `hostile-${process.pid}.sock`);
    await hostile.servePeer({ path: socket }, name);
    const turns = countTurns(Infinity);
    const codes: string[] = [];
    const onCall = (__: string, code: string): void => void codes.push(code);
    const kms = kmsV2Service({ socket, timeoutMs: 300, clock, onCall });
    cleanup.defer('client', () => kms.close());
    const before = usedHeapBytes();
    const calls = [kms.status(), kms.encrypt(Buffer.alloc(32), 'u'), kms.status()];
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    for (const code of codes) expect(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']).toContain(code);
    expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
    const { bytesRead, connections } = turns.end();
    expect(bytesRead).toBeLessThanOrEqual(connections * readBytesMax);
    await hostile.endPeer();
    const plugin = await startPlugin(socket);
    cleanup.defer('plugin', () => plugin.stop());
    // It may wait for a second before it connects again.
    await until('the plugin', () => kms.status().catch(() => undefined));
  });
});

/** Each takes two seconds, for the batches; one that hangs would take ten, and telemetry's own tests have one. */
const failingAtOnce = peers.filter((name) =>
  ['sends noise without end', 'announces a frame of 16 MiB', 'closes the connection'].includes(name),
);

describe('A trace collector that', () => {
  test.each(failingAtOnce)(
    '%s loses the spans, which are counted, and the next collector gets others',
    async (name) => {
      const [port = 0] = await freePorts(1);
      await hostile.servePeer({ port, host: '127.0.0.1' }, name);
      const turns = countTurns(Infinity);
      const counts = { exported: 0, dropped: 0 };
      const tracer = await openTracer({
        address: `127.0.0.1:${port}`,
        samplingRatePerMillion: 1_000_000,
        resource: {},
        clock,
        random: seededRandom(1),
        measures: {
          exported: (spans) => (counts.exported += spans),
          dropped: (__, spans) => (counts.dropped += spans),
        },
        exported: () => {},
      });
      cleanup.defer('tracer', () => tracer.close());
      const record = (): void => tracer.begin({ name: 'a', startMs: clock.monotonicMs(), attributes: {} }).end();
      const before = usedHeapBytes();
      record();
      await until('the loss', () => counts.dropped === 1 || undefined, 20_000);
      expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
      const { bytesRead, connections } = turns.end();
      expect(bytesRead).toBeLessThanOrEqual(connections * readBytesMax);
      await hostile.endPeer();
      const receiver = await startReceiver(`127.0.0.1:${port}`);
      cleanup.defer('collector', () => receiver.stop());
      record();
      await until('the span', () => counts.exported === 1 || undefined, 20_000);
    },
  );
});

describe('A member of etcd that', () => {
  test.each(peers)('%s fails its calls in their time, and takes no more memory', async (name) => {
    const [port = 0] = await freePorts(1);
    await hostile.servePeer({ port, host: '127.0.0.1' }, name);
    const member = http2Connect(clock)(`http://127.0.0.1:${port}`);
    cleanup.defer('member', async () => member.close());
    const turns = countTurns(Infinity);
    const before = usedHeapBytes();
    const calls = Array.from({ length: 10 }, () =>
      member.unary('/etcdserverpb.KV/Range', Buffer.alloc(10), { timeoutMs: 300, requireLeader: true }),
    );
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
    const { bytesRead, connections } = turns.end();
    expect(bytesRead).toBeLessThanOrEqual(connections * readBytesMax);
    await hostile.endPeer();
  });
});
