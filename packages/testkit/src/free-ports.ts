import { systemRandom } from '@cluster-apiserver/base';
import { once } from 'node:events';
import net from 'node:net';

/**
 * Below the ephemeral range, so that no other socket gets the port before its process binds it, or while it restarts.
 * fetch() refuses 10080, a port of another protocol.
 */
const ports = { first: 10_081, count: 9_919 };

/** Test files that run at the same time take theirs from different parts, because a port is free until it is bound. */
const parts = 8;
const part = Number(process.env['JEST_WORKER_ID'] ?? 0) % parts;
const partCount = Math.floor(ports.count / parts);

const random = systemRandom();
/** By this test file, whose processes may not have bound them yet. */
const returned = new Set<number>();

/** Finds free ports for processes that take no port 0. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: net.Server[] = [];
  const found: number[] = [];
  // All are held until the last is known, so that none is returned twice.
  while (found.length < count) {
    const port = ports.first + part * partCount + random.below(partCount);
    if (returned.has(port)) continue;
    const server = net.createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue; // in use
    }
    held.push(server);
    found.push(port);
    returned.add(port);
  }
  await Promise.all(held.map((server) => once(server.close(), 'close')));
  return found;
}
