/** Starts a real etcd of one or three members for a test file. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { requireValue } from '@cluster-apiserver/base';
import { freePorts } from './free-ports.ts';
import { until } from './until.ts';
import { type ClientCredentials, isHealthy, memberAt, readHealth } from './etcd-gateway.ts';
import { leaksBelow } from './leaks.ts';
import { StartError } from './repeatable-errors.ts';
import { startProxy } from './tcp-proxy.ts';

export interface RealEtcd {
  readonly endpoints: readonly string[];
  readonly members: readonly RealMember[];
  /** The directory of its data. */
  readonly directory: string;
  leader(): Promise<RealMember>;
  /** Makes a member the leader. */
  moveLeader(to: RealMember): Promise<void>;
  /** Saves a snapshot, as an operator does for a backup. Returns its path. */
  snapshot(name: string): string;
  /** Kills all members and starts them with the data of a snapshot. */
  restore(snapshot: string, options?: RestoreOptions): Promise<void>;
  /** Replaces a lost member by an empty one, as an operator does. It must not be the first member. */
  replace(member: RealMember): Promise<void>;
  /**
   * Drops everything between a member and the others, while clients reach all of them; undefined ends that. Requires
   * `partitionable`.
   */
  isolate(member: RealMember | undefined): Promise<void>;
  /** Runs etcdctl against the first member, with the client credentials. Returns its output. */
  control(...args: readonly string[]): string;
  /** Rejects if its files contain a canary that should be encrypted. */
  stop(): Promise<void>;
}

export interface RestoreOptions {
  /** The restored members are another cluster than before, with this token. */
  readonly token?: string | undefined;
  /** The restored data are of a much later revision, and all earlier ones are compacted. */
  readonly bumpRevision?: boolean | undefined;
}

export interface RealMember {
  readonly endpoint: string;
  readonly running: boolean;
  /** Undefined if it is not running. */
  readonly pid: number | undefined;
  start(...flags: readonly string[]): Promise<void>;
  /** Whether it answers a linearizable read now. */
  serves(): Promise<boolean>;
  /** Resolves when the signal has taken effect. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export interface RealEtcdOptions {
  readonly members?: number;
  readonly flags?: readonly string[];
  /** Whether all writers encrypt: then its files are searched for canaries at the end. */
  readonly encrypted?: boolean;
  readonly tls?: EtcdTls;
  /** Whether members reach each other through proxies, so that they can be isolated. */
  readonly partitionable?: boolean;
}

/** Members with TLS that require client certificates of the same CA. All in PEM. */
export interface EtcdTls {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
  /** The client credentials of readiness checks. */
  readonly client: ClientCredentials;
}

const binary = process.env.ETCD_BIN ?? 'etcd';

/** A member takes variables that begin like this for its settings. */
const withoutEtcdSettings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('ETCD_')),
);

/** Undefined where none could be had: then nothing can be restored. */
export const etcdctl = process.env.ETCDCTL_BIN;

/** Whether it can restore data as of a later revision: since 3.5.10. */
export const canBumpRevision =
  etcdctl !== undefined &&
  execFileSync(etcdctl, ['snapshot', 'restore', '--help'], { env: { ...process.env, ETCDCTL_API: '3' } }).includes(
    '--bump-revision',
  );

/** A single member becomes leader at once, which saves a second per start. Clusters keep the default timing. */
const quicklyElected = ['--heartbeat-interval=20', '--election-timeout=200'];

/** What etcd prints whatever its log level: 3.5 of each client that left, 3.4 of each failed health check. */
const unfiltered = /grpc: Server\.processUnaryRPC failed to write status|etcdhttp: \/health error/;

// An aborted test run stops its etcd processes.
const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export async function startEtcd({
  members: count = 1,
  flags = [],
  encrypted = false,
  tls,
  partitionable = false,
}: RealEtcdOptions = {}): Promise<RealEtcd> {
  const directory = mkdtempSync(join(tmpdir(), 'storage-etcd-'));
  const ports = await freePorts(count * 2);
  const names = Array.from({ length: count }, (_, at) => `m${at}`);
  const peers = names.map((_, at) => `http://127.0.0.1:${ports[at * 2 + 1]}`);
  const proxies = partitionable ? await Promise.all(peers.map((peer) => startProxy(peer))) : [];
  const advertised = peers.map((peer, at) => proxies[at]?.endpoint ?? peer);
  const cluster = names.map((name, at) => `${name}=${advertised[at]}`).join(',');
  const members = names.map((name, at) =>
    member({
      name,
      endpoint: `${tls ? 'https' : 'http'}://127.0.0.1:${ports[at * 2]}`,
      peer: requireValue(peers[at]),
      advertisedPeer: requireValue(advertised[at]),
      flags: [
        ...['--data-dir', join(directory, name), '--initial-cluster', cluster],
        ...(count === 1 ? quicklyElected : []),
        ...tlsFlags(directory, tls),
        ...flags,
      ],
      credentials: tls?.client,
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((one) => one.signal('SIGKILL')));
    await Promise.all(proxies.map((proxy) => proxy.close()));
    const leaks = encrypted ? leaksBelow(directory) : [];
    rmSync(directory, { recursive: true, force: true });
    if (leaks.length > 0) throw new Error(`what was to be encrypted is not: ${leaks.join(', ')}`);
  };
  try {
    await Promise.all(members.map((one) => one.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  const ourselves = (endpoint = members[0]?.endpoint ?? ''): readonly string[] => [
    ...['--endpoints', endpoint],
    ...(tls ? ['--cacert', join(directory, 'authority.pem')] : []),
    ...(tls ? ['--cert', written(directory, 'client.pem', tls.client.cert)] : []),
    ...(tls ? ['--key', written(directory, 'client-key.pem', tls.client.key)] : []),
  ];
  const leader = (): Promise<RealMember> =>
    until('a leader', async () => {
      for (const one of members) if (one.running && (await leads(one.endpoint))) return one;
      return undefined;
    });
  return {
    endpoints: members.map((one) => one.endpoint),
    members,
    directory,
    leader,
    moveLeader: async (to) => {
      const from = await leader();
      if (from === to) return;
      const { id } = requireValue(await memberAt(to.endpoint), 'the next leader runs');
      control([...ourselves(from.endpoint), 'move-leader', BigInt(id).toString(16)]);
      await until('the new leader', async () => (await leads(to.endpoint)) || undefined);
    },
    snapshot: (name) => {
      const path = join(directory, name);
      // A snapshot has what this member knows: after a read through the quorum that is all that was acknowledged.
      control([...ourselves(), 'get', 'x']);
      control([...ourselves(), 'snapshot', 'save', path]);
      return path;
    },
    isolate: async (isolated) => {
      const id = isolated && BigInt(requireValue(await memberAt(isolated.endpoint), 'it runs').id).toString(16);
      for (const [at, proxy] of proxies.entries()) {
        proxy.silent = isolated !== undefined && members[at] === isolated;
        // Members name themselves in each request to another one.
        proxy.isSilentFor = id === undefined ? undefined : (opening) => opening.includes(`X-Server-From: ${id}\r\n`);
        // What was dropped would be missing in the middle of a message.
        if (isolated === undefined) proxy.cut();
      }
    },
    control: (...args) => control([...ourselves(), ...args]),
    replace: async (lost) => {
      const at = members.indexOf(lost);
      const name = names[at] ?? '';
      const peer = advertised[at] ?? '';
      await lost.signal('SIGKILL');
      rmSync(join(directory, name), { recursive: true, force: true });
      // A change of members that is sent to a leader that was just lost gets no response.
      await until('a leader among the rest', async () => (await members[0]?.serves()) || undefined);
      const listed = control([...ourselves(), 'member', 'list']).split('\n');
      const [id = ''] = listed.find((line) => line.includes(peer))?.split(',') ?? [];
      control([...ourselves(), 'member', 'remove', id]);
      // Refused until the rest know each other as well.
      await until(`a place for ${name}`, async () => {
        try {
          return control([...ourselves(), 'member', 'add', name, '--peer-urls', peer]);
        } catch {
          return undefined;
        }
      });
      await lost.start('--initial-cluster-state', 'existing');
    },
    restore: async (snapshot, { token, bumpRevision } = {}) => {
      await Promise.all(members.map((one) => one.signal('SIGKILL')));
      for (const [at, name] of names.entries()) {
        const data = join(directory, name);
        rmSync(data, { recursive: true, force: true });
        control([
          ...['snapshot', 'restore', snapshot, '--data-dir', data, '--name', name],
          ...['--initial-cluster', cluster],
          ...['--initial-advertise-peer-urls', advertised[at] ?? ''],
          ...(token === undefined ? [] : ['--initial-cluster-token', token]),
          ...(bumpRevision ? ['--bump-revision', '1000000000', '--mark-compacted'] : []),
        ]);
      }
      await Promise.all(members.map((one) => one.start()));
    },
    stop,
  };
}

function control(args: readonly string[]): string {
  if (!etcdctl) throw new Error('there is no etcdctl');
  const env = { ...process.env, ETCDCTL_API: '3' };
  return execFileSync(etcdctl, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }).toString();
}

function tlsFlags(directory: string, tls: EtcdTls | undefined): readonly string[] {
  if (!tls) return [];
  return [
    '--client-cert-auth',
    ...['--trusted-ca-file', written(directory, 'authority.pem', tls.authority)],
    ...['--cert-file', written(directory, 'certificate.pem', tls.certificate)],
    ...['--key-file', written(directory, 'key.pem', tls.privateKey)],
  ];
}

function written(directory: string, name: string, content: string | Buffer = ''): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

interface MemberOptions {
  readonly name: string;
  readonly endpoint: string;
  readonly peer: string;
  /** Where the others reach it. */
  readonly advertisedPeer: string;
  readonly flags: readonly string[];
  readonly credentials: ClientCredentials | undefined;
}

function member({ name, endpoint, peer, advertisedPeer, flags, credentials }: MemberOptions): RealMember {
  let child: ChildProcess | undefined;
  return {
    endpoint,
    get running() {
      return child !== undefined;
    },
    get pid() {
      return child?.pid;
    },
    serves: () => isHealthy(endpoint, credentials),
    start: async (...more) => {
      const started = spawn(
        binary,
        [
          ...['--name', name, '--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
          ...[
            '--listen-peer-urls',
            peer,
            '--initial-advertise-peer-urls',
            advertisedPeer,
            '--logger',
            'zap',
            '--log-level',
            'error',
          ],
          ...flags,
          ...more,
        ],
        { env: withoutEtcdSettings, stdio: ['ignore', 'ignore', 'pipe'] },
      );
      child = started;
      running.add(started);
      started.once('exit', () => {
        running.delete(started);
        if (child === started) child = undefined;
      });
      createInterface({ input: started.stderr }).on('line', (line) => {
        if (!unfiltered.test(line)) process.stderr.write(`${line}\n`);
      });
      let health = '';
      const healthy = until(`${name} to answer`, async () => {
        if (child !== started) throw new Error(`${name} has ended`);
        health = await readHealth(endpoint, credentials);
        return health === 'true' || undefined;
      });
      await healthy.catch((error: unknown) => {
        throw new StartError(`${name} at ${endpoint} did not start; its health: ${health}`, { cause: error });
      });
    },
    signal: async (signal) => {
      const target = child;
      if (!target) return;
      target.kill(signal);
      if (signal === 'SIGKILL') await new Promise<void>((resolve) => target.once('exit', () => resolve()));
      // Its threads run on until one of them has got the signal, which takes a while on a busy machine.
      if (signal === 'SIGSTOP') await until(`${name} to stand still`, async () => isStopped(target) || undefined);
    },
  };
}

/** Reads the state of each thread, which follows the name of the program. */
function isStopped({ pid }: ChildProcess): boolean {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) =>
    / T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8').split(')')[1] ?? ''),
  );
}

async function leads(endpoint: string): Promise<boolean> {
  const found = await memberAt(endpoint);
  return found !== undefined && found.leader === found.id;
}
