import type { Clock } from '@cluster-apiserver/base';
import net from 'node:net';
import type { Backends } from './backends.ts';

/** Each connection uses two file descriptors, and the default limit of a process is 1024. */
const connectionsMax = 5_000;
/** Local connections are established within a millisecond; a slower replica is not accepting. */
const connectTimeoutMs = 1_000;

/**
 * Forwards bytes unmodified, so that TLS, HTTP/2 and client certificates work end to end. Only new connections are
 * distributed; open ones stay with their replica.
 */
export function createProxy(backends: Backends, clock: Clock, refused: (port: number) => void): net.Server {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    // Without a listener an error before a replica is found would end the process.
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
      socket.on('error', () => {}); // the connection is abandoned
      socket.destroy();
    });
    socket.once('error', failed);
    socket.once('connect', () => settle(socket));
  });
}

/**
 * `pipe` handles backpressure and forwards the end of each direction. It does not forward errors: a broken connection is
 * passed on as a reset, not as a regular end.
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
