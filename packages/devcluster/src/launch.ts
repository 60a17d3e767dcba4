import type { Scope } from '@cluster-apiserver/base';
import fs from 'node:fs';
import { bindDeveloper } from './developer.ts';
import { readEtcdVersion } from './etcd-process.ts';
import { createProbe } from './front/readiness.ts';
import { type Home, getHome } from './home.ts';
import { endLeftovers } from './leftovers.ts';
import { lock } from './lock.ts';
import { beginLogs } from './logs.ts';
import type { Options } from './options.ts';
import { forgetChildren, type Pids, type Running, writeChildren, writePids } from './pids.ts';
import { type Plan, type Planned, plan } from './plan.ts';
import { type Supervised, supervise, type SupervisorContext } from './supervise.ts';

/** What the launcher knows of the process it is. */
export interface Launcher extends SupervisorContext {
  readonly pid: number;
  readonly node: string;
  readonly etcd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts when the cluster is to stop, maybe before it has started. */
  readonly signal: AbortSignal;
}

export interface Cluster {
  readonly home: Home;
  readonly pids: Pids;
  /** What the replicas store into, for people. */
  readonly store: string;
  /** Whether the developer has rights. Not in an etcd of others, where somebody else may have that name. */
  readonly hasDeveloper: boolean;
}

/** A replica may finish the requests it has, and a minute is what the longest of them may take. */
const replicaGraceMs = 70_000;
/** When the replicas are gone their connections are too; only a client that never reads could still hold one. */
const frontGraceMs = 2_000;
/** etcd gives its leadership to another member before it ends. */
const etcdGraceMs = 15_000;

/**
 * Starts etcd, the replicas and the front, each when what it needs is ready. The scope stops them in the order that
 * loses no request: the front takes nothing new, the replicas finish what they have, and the store goes last.
 */
export async function launch(options: Options, launcher: Launcher, scope: Scope): Promise<Cluster> {
  const home = getHome(options.dataDir);
  fs.mkdirSync(home.directory, { recursive: true, mode: 0o700 });
  scope.onClose('lock', lock(home.lock, launcher.pid));
  const leftovers = await endLeftovers(home, launcher.pid, launcher.clock);
  if (leftovers > 0) launcher.print(`Ended ${leftovers} process(es) that an earlier start had left behind.`);
  beginLogs(home.logs);
  return run(await plan(options, home, launcher), home, launcher, scope);
}

interface Child {
  readonly url: string;
  readonly process: Supervised;
}

async function run(planned: Plan, home: Home, launcher: Launcher, scope: Scope): Promise<Cluster> {
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
    launcher.signal.throwIfAborted(); // whoever stops the cluster now would not know of this one
    return { url, process: supervise(program, launcher, () => changed()) };
  };

  scope.onClose('record', () => forgetChildren(home));
  scope.onClose('etcd', () => stopAll(etcd, etcdGraceMs));
  scope.onClose('front', () => stopAll(front, frontGraceMs));
  scope.onClose('replicas', () => stopAll(replicas, replicaGraceMs));
  scope.onClose('public address', () => front.forEach((child) => child.process.requestStop()));

  etcd.push(...planned.etcd.map(begin));
  changed();
  const versions = await allReady(etcd, (url) => readEtcdVersion(url, launcher.clock));

  replicas.push(...planned.replicas.map(begin));
  changed();
  const access = { ca: fs.readFileSync(home.ca, 'utf8'), token: fs.readFileSync(home.adminToken, 'utf8') };
  const ask = createProbe(access.ca, access.token);
  scope.onClose('probe', () => ask.close());
  const ready = async (url: string): Promise<true | undefined> =>
    (await ask.ready(Number(new URL(url).port))) || undefined;
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
    store: versions[0] === undefined ? planned.etcdServers : `version ${versions[0]}`,
    hasDeveloper: etcd.length > 0 && (await tryBindDeveloper({ url: only.url, ...access }, launcher)),
  };
}

/** A cluster without a developer is still one. */
async function tryBindDeveloper(
  access: { readonly url: string; readonly ca: string; readonly token: string },
  { clock, signal, print }: Launcher,
): Promise<boolean> {
  try {
    await bindDeveloper({ ...access, clock, signal });
    return true;
  } catch (error) {
    if (!signal.aborted) print(`The developer has no rights: ${(error as Error).message}`); // it throws Errors
    return false;
  }
}

/** Waits for everybody at once: the members of an etcd cluster are ready only together. */
function allReady<T>(children: readonly Child[], check: (url: string) => Promise<T | undefined>): Promise<T[]> {
  return Promise.all(children.map(({ url, process }) => process.ready(() => check(url))));
}

async function stopAll(children: readonly Child[], graceMs: number): Promise<void> {
  await Promise.all(children.map(({ process }) => process.stop(graceMs)));
}

const toRunning = ({ url, process }: Child): Running => ({ pid: process.pid, url });
