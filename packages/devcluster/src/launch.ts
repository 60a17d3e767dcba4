import type { CleanupStack } from '@cluster-apiserver/base';
import fs from 'node:fs';
import { errorMessage } from '@cluster-apiserver/base';
import { bindDeveloper } from './developer.ts';
import { findEtcd } from './etcd-program.ts';
import { readEtcdVersion } from './etcd-process.ts';
import { createProbe } from './front/readiness.ts';
import { type Home, getHome } from './home.ts';
import { endLeftovers } from './leftovers.ts';
import { lock } from './lock.ts';
import { beginLogs } from './logs.ts';
import type { Options } from './options.ts';
import { forgetChildren, type Pids, type Running, writeChildren, writePids } from './pids.ts';
import type { Launcher } from './launcher.ts';
import { type Plan, type Planned, plan } from './plan.ts';
import { Supervisor } from './supervise.ts';

export interface Cluster {
  readonly home: Home;
  readonly pids: Pids;
  /** Description of the etcd in use, for the greeting. */
  readonly store: string;
  /** Whether the developer has permissions. Not granted in an external etcd, where another user may have that name. */
  readonly hasDeveloper: boolean;
  /** Starts replicas that have ended, without a pause. */
  readonly startNow: () => void;
}

/** Replicas finish requests in flight, which take at most a minute. */
const replicaGraceMs = 70_000;
/** Once the replicas have stopped, only a client that never reads can keep a connection open. */
const frontGraceMs = 2_000;
/** etcd transfers leadership before it stops. */
const etcdGraceMs = 15_000;

/**
 * Starts etcd, the replicas and the front, each when the previous ones are ready. The cleanup stops them without losing
 * requests: first the front stops accepting, then the replicas finish their requests, and etcd stops last.
 */
export async function launch(options: Options, launcher: Launcher, cleanup: CleanupStack): Promise<Cluster> {
  const home = getHome(options.dataDir);
  fs.mkdirSync(home.directory, { recursive: true, mode: 0o700 });
  cleanup.defer('lock', lock(home.lock, launcher.pid));
  const leftovers = await endLeftovers(home, launcher.pid, launcher.clock);
  if (leftovers > 0) launcher.print(`Ended ${leftovers} process(es) that an earlier start had left behind.`);
  beginLogs(home.logs);
  const { env, platform, print } = launcher;
  const etcd = options.etcdServers === undefined ? await findEtcd(env, home.programs, platform, print) : '';
  return run(await plan(options, home, etcd, launcher), home, launcher, cleanup);
}

interface Child {
  readonly url: string;
  readonly process: Supervisor;
}

async function run(planned: Plan, home: Home, launcher: Launcher, cleanup: CleanupStack): Promise<Cluster> {
  const etcd: Child[] = [];
  const replicas: Child[] = [];
  const front: Child[] = [];
  const children = () => ({
    replicas: replicas.map(toRunning),
    etcd: etcd.map(toRunning),
    front: front.map(toRunning),
  });
  let changed = (): void => writeChildren(home, children());
  const begin = ({ program, url }: Planned): Child => {
    launcher.signal.throwIfAborted(); // a cluster that is being stopped would not stop this process
    return { url, process: new Supervisor(program, launcher, () => changed()) };
  };

  cleanup.defer('record', () => forgetChildren(home));
  cleanup.defer('etcd', () => stopAll(etcd, etcdGraceMs));
  cleanup.defer('front', () => stopAll(front, frontGraceMs));
  cleanup.defer('replicas', () => stopAll(replicas, replicaGraceMs));
  cleanup.defer('public address', () => front.forEach((child) => child.process.requestStop()));

  etcd.push(...planned.etcd.map(begin));
  changed();
  const versions = await allReady(etcd, (url) => readEtcdVersion(url));

  replicas.push(...planned.replicas.map(begin));
  changed();
  const access = { ca: fs.readFileSync(home.ca, 'utf8'), token: fs.readFileSync(home.adminToken, 'utf8') };
  const probe = createProbe(access.ca, access.token);
  cleanup.defer('probe', () => probe.close());
  const ready = async (url: string): Promise<true | undefined> =>
    (await probe.ready(Number(new URL(url).port))) || undefined;
  await allReady(replicas, ready);

  const only = begin(planned.front);
  front.push(only);
  await allReady(front, ready);
  const pids = (): Pids => ({ ...children(), front: toRunning(only) });
  changed = () => {
    writeChildren(home, children());
    writePids(home, pids());
  };
  changed();
  return {
    home,
    pids: pids(),
    startNow: () => replicas.forEach((child) => child.process.startNow()),
    store: versions[0] === undefined ? planned.etcdServers : `version ${versions[0]}`,
    hasDeveloper: etcd.length > 0 && (await tryBindDeveloper({ url: only.url, ...access }, launcher)),
  };
}

/** The cluster is usable without the developer, so a failure is only printed. */
async function tryBindDeveloper(
  access: { readonly url: string; readonly ca: string; readonly token: string },
  { clock, signal, print }: Launcher,
): Promise<boolean> {
  try {
    await bindDeveloper({ ...access, clock, signal });
    return true;
  } catch (error) {
    if (!signal.aborted) print(`The developer has no rights: ${errorMessage(error)}`);
    return false;
  }
}

/** Waits for all concurrently: the members of an etcd cluster become ready only together. */
function allReady<T>(children: readonly Child[], check: (url: string) => Promise<T | undefined>): Promise<T[]> {
  return Promise.all(children.map(({ url, process }) => process.ready(() => check(url))));
}

async function stopAll(children: readonly Child[], graceMs: number): Promise<void> {
  await Promise.all(children.map(({ process }) => process.stop(graceMs)));
}

const toRunning = ({ url, process }: Child): Running => ({ pid: process.pid, url });
