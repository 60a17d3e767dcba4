import type { Clock } from '@cluster-apiserver/base';
import net from 'node:net';
import type { Backends } from './backends.ts';

/** Each connection takes two file descriptors, and systems give a process a little more than a thousand to begin with. */
const connectionsMax = 5_000;
/** On one machine a connection stands within a millisecond; a replica that needs longer is not taking any. */
const connectTimeoutMs = 1_000;

/**
 * Passes bytes on without looking at them, so TLS, HTTP/2 and client certificates reach from the client to the
 * replica. A connection stays where it began; only new ones are distributed.
 */
export function createProxy(backends: Backends, clock: Clock, refused: (port: number) => void): net.Server {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    // Until a replica is found nobody else listens for errors, and an unheard one would end the process.
    client.on('error', () => client.destroy());
    void forward(client, backends, clock, refused);
  });
  server.maxConnections = connectionsMax;
  return server;
}

async function forward(
  client: net.Socket,
  backends: Backends,
  clock: Clock,
  refused: (port: number) => void,
): Promise<void> {
  for (const port of backends.order()) {
    const replica = await connect(port, clock);
    if (client.destroyed) {
      replica?.destroy();
      return;
    }
    if (replica) return join(client, replica);
    refused(port);
  }
  client.resetAndDestroy();
}

function connect(port: number, clock: Clock): Promise<net.Socket | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    const settle = (outcome: net.Socket | undefined): void => {
      timeOut();
      socket.off('error', failed);
      resolve(outcome);
    };
    const failed = (): void => settle(undefined);
    const timeOut = clock.after(connectTimeoutMs, () => {
      settle(undefined);
      socket.on('error', () => {}); // nobody waits for this connection any more
      socket.destroy();
    });
    socket.once('error', failed);
    socket.once('connect', () => settle(socket));
  });
}

/**
 * `pipe` waits for a slow reader and hands on the end of each direction by itself. What it does not hand on is a
 * connection that broke: the other side learns of it as a reset, not as an end that looks intended.
 */
function join(client: net.Socket, replica: net.Socket): void {
  for (const [from, to] of [
    [client, replica],
    [replica, client],
  ] as const) {
    from.on('error', () => to.resetAndDestroy());
    from.pipe(to);
  }
}
