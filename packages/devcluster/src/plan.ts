import fs from 'node:fs';
import { readConfigDirectory } from './config-directory.ts';
import { writeCredentials } from './credentials.ts';
import { writeEncryptionConfiguration } from './encryption.ts';
import { clientUrl, createEtcdPrograms } from './etcd-process.ts';
import { createFrontProgram } from './front-process.ts';
import type { Home } from './home.ts';
import type { Launcher } from './launcher.ts';
import { type Options, UsageError } from './options.ts';
import { createReplicaPrograms, replicaUrl } from './replica-process.ts';
import type { Program } from './supervise.ts';
import { forgetMembers, findFreePort, isFree, planTopology } from './topology.ts';

/** All programs of the cluster, before they are started. */
export interface Plan {
  readonly etcd: readonly Planned[];
  readonly replicas: readonly Planned[];
  readonly front: Planned;
  /** Value of --etcd-servers. */
  readonly etcdServers: string;
}

export interface Planned {
  readonly program: Program;
  readonly url: string;
}

export async function plan(options: Options, home: Home, etcd: string, launcher: Launcher): Promise<Plan> {
  const { node, env, clock, random } = launcher;
  if (options.fresh) clearDirectory(home);
  const flags = [
    ...(options.configDir === undefined ? [] : readConfigDirectory(options.configDir)),
    ...options.replicaFlags,
  ];
  const etcdMembers = options.etcdServers === undefined ? options.etcdMembers : 0;
  const port = options.port === 0 ? await findFreePort(random) : options.port;
  const topology = await planTopology(home, { etcdMembers, replicas: options.replicas, publicPort: port }, random);
  if (!(await isFree(port)))
    throw new UsageError(
      `port ${port} is taken by another program; choose one with --port, such as npm start -- --port ${port + 1}`,
    );

  const address = `https://127.0.0.1:${port}`;
  await writeCredentials(home, address, clock, random);

  const etcdUrls = topology.etcd.map(clientUrl);
  const etcdServers = options.etcdServers ?? etcdUrls.join(',');
  const encrypted = options.etcdServers === undefined;
  if (encrypted) writeEncryptionConfiguration(home, random);
  const replicas = createReplicaPrograms(
    { node, ports: topology.replicas, address, etcdServers, encrypted, flags, env },
    home,
  );
  const { directory } = home;
  const settings = { directory, listen: options.listen, port, replicas: topology.replicas };
  const front = createFrontProgram(node, settings, home, env);
  return {
    etcd: toPlanned(createEtcdPrograms(etcd, topology.etcd, home, env), etcdUrls),
    replicas: toPlanned(replicas, topology.replicas.map(replicaUrl)),
    front: { program: front, url: address },
    etcdServers,
  };
}

const toPlanned = (programs: readonly Program[], urls: readonly string[]): Planned[] =>
  programs.map((program, i) => ({ program, url: urls[i] ?? '' }));

function clearDirectory(home: Home): void {
  fs.rmSync(home.data, { recursive: true, force: true });
  forgetMembers(home);
}
