/**
 * Stands in for a process of the bench in a control row: uses as much CPU time, and does nothing else.
 *
 *   stand-in.ts attacker USE OTHER-THREADS
 *   stand-in.ts store USE OTHER-THREADS                                             echoes bytes, as etcd responds
 *   stand-in.ts server USE OTHER-THREADS STORE-PORT CERTIFICATE-FILE KEY-FILE       responds to gets, after the store did
 *
 * USE and OTHER-THREADS are shares of a core. It works in turns of a few milliseconds, like the server.
 */
import fs from 'node:fs';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { systemClock as clock } from '@cluster-apiserver/base';

/** Work of one event-loop iteration: what the server allows for requests. */
const turnMs = 5;

const processorMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Uses a share of a core; other work of the thread counts as part of it. */
function spin(share: number): void {
  const beganMs = clock.monotonicMs();
  const before = processorMs();
  const turn = (): void => {
    const dueMs = (clock.monotonicMs() - beganMs) * share;
    const endMs = processorMs() + Math.min(turnMs, dueMs - (processorMs() - before));
    while (processorMs() < endMs);
    if (share >= 1) clock.soon(turn);
    else clock.after(1, turn);
  };
  turn();
}

function spinInThreads(share: number): void {
  for (let left = share; left > 0.01; left -= 1)
    new Worker(import.meta.filename, { workerData: Math.min(1, left) }).unref();
}

const announce = (server: Server): void =>
  void server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));

function serveStore(): void {
  announce(
    createServer((socket) => {
      socket.setNoDelay(true);
      socket.pipe(socket);
    }),
  );
}

const body = JSON.stringify({ kind: 'ServiceAccount', metadata: { name: 'polite', annotations: 'x'.repeat(700) } });

function serveGets(storePort: number, cert: Buffer, key: Buffer): void {
  const store = connect(storePort, '127.0.0.1');
  store.setNoDelay(true);
  const waiting: (() => void)[] = [];
  store.on('data', (bytes) => {
    for (let answered = 0; answered < bytes.length; answered++) waiting.shift()?.();
  });
  const server = createSecureServer({ cert, key });
  server.on('stream', (stream) => {
    waiting.push(() => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.end(body);
    });
    store.write('g');
  });
  announce(server);
}

if (!isMainThread) spin(Number(workerData));
else {
  const [role = '', use = '0', otherThreads = '0', storePort = '', cert = '', key = ''] = process.argv.slice(2);
  if (role === 'store') serveStore();
  else if (role === 'server') serveGets(Number(storePort), fs.readFileSync(cert), fs.readFileSync(key));
  spinInThreads(Number(otherThreads));
  spin(Number(use));
  process.once('disconnect', () => process.exit(0));
}
