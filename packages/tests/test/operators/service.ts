import { once } from 'node:events';
import net from 'node:net';

/** A Service: connections to its port go to the first of these ports that accepts them. */
export async function startService(port: number, targets: readonly number[]): Promise<{ stop(): Promise<void> }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    sockets.add(near);
    near.on('error', () => near.destroy()).on('close', () => sockets.delete(near));
    void connectToFirst(targets).then(
      (far) => {
        far.on('error', () => far.destroy()).on('close', () => near.destroy());
        near.on('close', () => far.destroy());
        near.pipe(far).pipe(near);
      },
      () => near.destroy(), // nothing listens
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function connectToFirst([target = 0, ...others]: readonly number[]): Promise<net.Socket> {
  const socket = net.connect(target, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    if (others.length === 0) throw error;
    return connectToFirst(others);
  }
}
