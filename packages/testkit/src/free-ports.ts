import { systemRandom } from '@cluster-apiserver/base';
import { once } from 'node:events';
import net from 'node:net';

/**
 * Below the ephemeral range, so that no other socket gets the port before its process binds it, or while it restarts.
 * fetch() refuses 10080, a port of another protocol.
 */
const ports = { first: 10_081, count: 9_919 };

const random = systemRandom();

/** Finds free ports for processes that take no port 0. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: net.Server[] = [];
  const found: number[] = [];
  // All are held until the last is known, so that none is returned twice.
  while (found.length < count) {
    const port = ports.first + random.below(ports.count);
    const server = net.createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue; // in use
    }
    held.push(server);
    found.push(port);
  }
  await Promise.all(held.map((server) => once(server.close(), 'close')));
  return found;
}
