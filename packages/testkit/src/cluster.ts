import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { builtLauncher } from './built-launcher.ts';
import { endProcess } from './child-process.ts';
import { StartError } from './repeatable-errors.ts';
import { createEncryptionConfiguration } from './encryption-configuration.ts';
import { withoutNamespaceObjects } from './without-namespace-objects.ts';

/** A whole cluster, started like `npm start`, for tests that inject faults into its processes. */
export interface Cluster {
  /** The current processes; a restarted process has a new id. */
  pids(): Pids;
  readonly ca: Buffer;
  readonly token: string;
  /** Kubeconfig of a user whose permissions come from RBAC. */
  readonly developerKubeconfig: string;
  /** EncryptionConfiguration of the replicas, whose keys decrypt the values in etcd. */
  readonly encryption: Buffer;
  /** Output of a process, such as `replica-1`. */
  log(name: string): string;
  /** Stops all processes and removes all files. */
  stop(): Promise<void>;
}

export interface Pids {
  readonly replicas: readonly Running[];
  readonly etcd: readonly Running[];
  readonly front: Running;
}

export interface Running {
  readonly pid: number;
  readonly url: string;
}

export interface ClusterOptions {
  readonly replicas: number;
  /** The number of members to start, or the endpoints of members that the test started. */
  readonly etcdMembers: number | readonly string[];
  readonly replicaFlags?: readonly string[];
  /** EncryptionConfiguration of the replicas; by default one key encrypts everything. */
  readonly encryption?: string;
}

export async function startCluster({
  replicas,
  etcdMembers,
  replicaFlags = [],
  encryption,
}: ClusterOptions): Promise<Cluster> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'cluster-'));
  const hasOwnEtcd = typeof etcdMembers === 'number';
  const etcd = hasOwnEtcd ? ['--etcd-members', `${etcdMembers}`] : ['--etcd-servers', etcdMembers.join(',')];
  const own = ['--data-dir', home, '--port', '0', '--replicas', `${replicas}`, ...etcd];
  const encryptionFile = path.join(home, 'encryption.yaml');
  // The launcher creates a key for its own etcd, and does not encrypt in another one.
  const launcherEncrypts = hasOwnEtcd && encryption === undefined;
  if (!launcherEncrypts) fs.writeFileSync(encryptionFile, encryption ?? createEncryptionConfiguration());
  const encrypted = launcherEncrypts
    ? []
    : [`--encryption-provider-config=${encryptionFile}`, '--encryption-provider-config-automatic-reload=true'];
  const child = spawn(
    process.execPath,
    [builtLauncher, ...own, '--', ...encrypted, ...withoutNamespaceObjects(replicaFlags)],
    {
      // The launcher stops the cluster when this process exits and closes the channel.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));
  const stop = async (): Promise<void> => {
    await endProcess(child);
    fs.rmSync(home, { recursive: true, force: true });
  };
  const first = await Promise.race([once(child, 'message'), once(child, 'close').then(() => undefined)]);
  if (!first) {
    await stop();
    throw new StartError(`the cluster did not start:\n${output}`);
  }
  const read = (file: string): string => fs.readFileSync(path.join(home, file), 'utf8');
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the launcher has written the file
    pids: () => JSON.parse(read('pids.json')) as Pids,
    ca: fs.readFileSync(path.join(home, 'ca.crt')),
    token: read('admin.token'),
    developerKubeconfig: path.join(home, 'developer.kubeconfig'),
    encryption: fs.readFileSync(encryptionFile),
    log: (name) => read(path.join('logs', `${name}.log`)),
    stop,
  };
}
