/** Backends that speak gRPC: what a peer does that is none costs its calls, and the next server is used. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { kmsV2Service } from '@cluster-apiserver/storage';
import { openTracer } from '@cluster-apiserver/telemetry';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { hostilePeers } from '@cluster-apiserver/testkit/hostile-backend';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { until } from '@cluster-apiserver/testkit/until';

let cleanup = new CleanupStack();
afterEach(async () => {
  await cleanup.close((what, error) => console.error(what, error));
  cleanup = new CleanupStack();
});

/** Returns a function that ends it. */
async function listen(at: net.ListenOptions, serve: (socket: net.Socket) => void): Promise<() => Promise<void>> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client has given up
    socket.resume();
    serve(socket);
  });
  server.listen(at);
  await once(server, 'listening');
  return async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
}

const grownBytesMax = 16 * 1024 * 1024;
const peers = Object.entries(hostilePeers);

describe('A KMS plugin that', () => {
  test.each(peers)('%s fails its calls in their time, and the next plugin is used', async (_, serve) => {
    const socket = path.join(os.tmpdir(), `hostile-${process.pid}.sock`);
    const end = await listen({ path: socket }, serve);
    const codes: string[] = [];
    const onCall = (__: string, code: string): void => void codes.push(code);
    const kms = kmsV2Service({ socket, timeoutMs: 300, clock, onCall });
    cleanup.defer('client', () => kms.close());
    const before = usedHeapBytes();
    const calls = [kms.status(), kms.encrypt(Buffer.alloc(32), 'u'), kms.status()];
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    for (const code of codes) expect(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']).toContain(code);
    expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
    await end();
    const plugin = await startPlugin(socket);
    cleanup.defer('plugin', () => plugin.stop());
    // It may wait for a second before it connects again.
    await until('the plugin', () => kms.status().catch(() => undefined));
  });
});

/** Each takes two seconds, for the batches; one that hangs would take ten, and telemetry's own tests have one. */
const failingAtOnce = peers.filter(([name]) =>
  ['sends noise without end', 'announces a frame of 16 MiB', 'closes the connection'].includes(name),
);

describe('A trace collector that', () => {
  test.each(failingAtOnce)(
    '%s loses the spans, which are counted, and the next collector gets others',
    async (_, serve) => {
      const [port = 0] = await freePorts(1);
      const end = await listen({ port, host: '127.0.0.1' }, serve);
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
      await end();
      const receiver = await startReceiver(`127.0.0.1:${port}`);
      cleanup.defer('collector', () => receiver.stop());
      record();
      await until('the span', () => counts.exported === 1 || undefined, 20_000);
    },
  );
});
