import type { Random } from '@cluster-apiserver/base';
import { once } from 'node:events';
import net from 'node:net';
import { readIfExists, replaceFile } from './files.ts';
import type { Home } from './home.ts';
import { UsageError } from './options.ts';

/** The ports of all processes. Stored with the data, because etcd persists the addresses of its members. */
export interface Topology {
  readonly etcd: readonly EtcdPorts[];
  readonly replicas: readonly number[];
}

export interface EtcdPorts {
  readonly client: number;
  readonly peer: number;
}

/** Below the ephemeral range, so that no outgoing connection takes the port of a restarting process. */
const ports = { first: 20_000, count: 10_000 };

/** Reuses the ports of the previous start where possible, and finds free ports for new processes. */
export async function planTopology(
  home: Home,
  wanted: { readonly etcdMembers: number; readonly replicas: number; readonly publicPort: number },
  random: Random,
): Promise<Topology> {
  const before = readTopology(home);
  if (wanted.etcdMembers > 0 && before.etcd.length > 0 && before.etcd.length !== wanted.etcdMembers) {
    throw new UsageError(
      `the data in ${home.data} belongs to ${before.etcd.length} etcd member(s): start with --etcd-members ${before.etcd.length}, or with --fresh`,
    );
  }
  const taken = new Set([
    wanted.publicPort,
    ...before.replicas,
    ...before.etcd.flatMap(({ client, peer }) => [client, peer]),
  ]);
  const free = async (): Promise<number> => {
    const port = await findFreePort(random, taken);
    taken.add(port);
    return port;
  };
  const replicas = await runInSequence(wanted.replicas, async (i) => {
    const port = before.replicas[i];
    return port !== undefined && port !== wanted.publicPort && (await isFree(port)) ? port : free();
  });
  const etcd = await runInSequence(
    wanted.etcdMembers,
    async (i) => before.etcd[i] ?? { client: await free(), peer: await free() },
  );
  for (const port of etcd.flatMap(({ client, peer }) => [client, peer])) {
    if (!(await isFree(port)))
      throw new UsageError(
        `port ${port} belongs to an etcd member of this cluster and is taken: free it, or start with --fresh`,
      );
  }
  // A start with an external etcd must keep the ports of the local members, whose data is still stored.
  const topology = { etcd, replicas };
  replaceFile(
    home.topology,
    `${JSON.stringify({ ...topology, etcd: etcd.length > 0 ? etcd : before.etcd }, undefined, 2)}\n`,
  );
  return topology;
}

/** Removes the members, when their data is deleted. */
export function forgetMembers(home: Home): void {
  replaceFile(home.topology, JSON.stringify({ ...readTopology(home), etcd: [] }));
}

export async function isFree(port: number): Promise<boolean> {
  const probe = net.createServer();
  try {
    probe.listen(port, '127.0.0.1');
    await once(probe, 'listening');
    return true;
  } catch {
    return false; // in use, or not permitted
  } finally {
    probe.close();
  }
}

export async function findFreePort(random: Random, taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let tries = 0; tries < ports.count; tries += 1) {
    const port = ports.first + random.below(ports.count);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new UsageError(`no free port from ${ports.first} to ${ports.first + ports.count - 1}`);
}

const readTopology = (home: Home): Topology =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this file writes the topology, so its structure is known
  JSON.parse(readIfExists(home.topology) ?? '{"etcd":[],"replicas":[]}') as Topology;

/** Sequentially, because each choice of a port depends on the previous ones. */
async function runInSequence<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i += 1) made.push(await make(i));
  return made;
}
