import type { Random } from '@cluster-apiserver/base';
import { once } from 'node:events';
import net from 'node:net';
import { readIfExists, replaceFile } from './files.ts';
import type { Home } from './home.ts';
import { UsageError } from './options.ts';

/** Who listens where. It is kept beside the data: a member's address is part of what etcd remembers. */
export interface Topology {
  readonly etcd: readonly EtcdPorts[];
  readonly replicas: readonly number[];
}

export interface EtcdPorts {
  readonly client: number;
  readonly peer: number;
}

/** Below the range that systems hand out to clients, so that no outgoing connection takes a port of a child that restarts. */
const ports = { first: 20_000, count: 10_000 };

/** The topology of last time as far as it still fits, and free ports for what is new. */
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
  // A start without etcd of our own must not make us forget the members whose data lies here.
  const topology = { etcd, replicas };
  replaceFile(
    home.topology,
    `${JSON.stringify({ ...topology, etcd: etcd.length > 0 ? etcd : before.etcd }, undefined, 2)}\n`,
  );
  return topology;
}

/** Forgets the members along with their data. */
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
    return false; // taken, or not ours to take
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

/** The file is ours alone, so what it holds has the form that we wrote. */
const readTopology = (home: Home): Topology =>
  JSON.parse(readIfExists(home.topology) ?? '{"etcd":[],"replicas":[]}') as Topology;

/** One after the other, because each choice of a port must know the ones before it. */
async function runInSequence<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i += 1) made.push(await make(i));
  return made;
}
