/**
 * Compares servers under the same load at the same time: on a shared machine no other comparison is reliable. The
 * servers share core 0; load and etcd use the core of the command, which needs etcd and wrk (or WRK_BIN).
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { until } from '@cluster-apiserver/testkit/until';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { isReady } from '@cluster-apiserver/testkit/api-client';
import { readProcessorMs } from './hostile/processor-use.ts';
import type { Ratio } from './save-measured.ts';

const pairs = 5;
const turns = 30;
const seconds = 4;
const connections = 16;
const serverCore = '0';
/** Of the fan-out of events. */
const [watchers, writesPerSecond] = [500, 100];
/** Token of a member of system:masters, which fills each server. */
export const adminToken = 't';

export const thisCheckout = path.resolve(import.meta.dirname, '..', '..', '..');
export const kit = path.join(thisCheckout, 'bench');
const wrk = process.env.WRK_BIN ?? 'wrk';
const run = promisify(execFile);

// An interrupted benchmark also stops its servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export interface BenchServer {
  readonly name: string;
  readonly url: string;
  readonly ca: Buffer;
  readonly pid: number;
  stop(): Promise<unknown>;
}

export interface BenchServerOptions {
  readonly name: string;
  readonly checkout: string;
  readonly endpoints: readonly string[];
  /** Directory for the files of the run. */
  readonly home: string;
  readonly flags?: readonly string[];
  /** Lines of the token file besides the administrator's. */
  readonly users?: readonly string[];
  /** Options of Node. */
  readonly nodeOptions?: string;
}

/**
 * Starts a server with its own etcd prefix, filled by the kit. It does not encrypt, so that comparisons show one feature
 * at a time, encryption among them.
 */
export async function startBenchServer({
  name,
  checkout,
  endpoints,
  home,
  flags = [],
  users = [],
  nodeOptions = '',
}: BenchServerOptions): Promise<BenchServer> {
  const [port] = await freePorts(1);
  const tokens = path.join(home, `${name}.tokens`);
  fs.writeFileSync(tokens, [`${adminToken},admin,,"system:masters"`, ...users, ''].join('\n'));
  const certificates = path.join(home, name);
  const main = path.join(checkout, 'packages', 'server', 'src', 'main.ts');
  // Use the Node options of the program's first line, with the running Node.
  const [firstLine = ''] = fs.readFileSync(main, 'utf8').split('\n', 1);
  const node = ['-S', firstLine.replace(/^#!\S+ (-S )?/, ''), '--conditions=source', main];
  const env = {
    ...process.env,
    NODE_OPTIONS: nodeOptions,
    PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
  };
  const served = [`--secure-port=${port}`, '--bind-address=127.0.0.1', `--cert-dir=${certificates}`];
  const stored = [`--etcd-servers=${endpoints.join()}`, `--etcd-prefix=/${name}`];
  const rest = [
    `--token-auth-file=${tokens}`,
    '--controllers=namespace-controller,clusterrole-aggregation-controller',
    ...flags,
  ];
  const log = fs.openSync(path.join(home, `${name}.log`), 'a');
  const server = spawn('env', [...node, ...served, ...stored, ...rest], { stdio: ['ignore', 'ignore', log], env });
  fs.closeSync(log);
  process.once('exit', () => server.kill());
  const pid = server.pid as number; // undefined only if spawning failed, and then the server never becomes ready
  const url = `https://127.0.0.1:${port}`;
  const certificate = path.join(certificates, 'apiserver.crt');
  await until('the server', async () =>
    fs.existsSync(certificate) ? isReady(url, { ca: fs.readFileSync(certificate), token: adminToken }) : undefined,
  );
  const seed = `import { seed } from '${path.join(kit, 'targets.mjs')}'; await seed(${JSON.stringify({ url, token: adminToken })})`;
  await run(process.execPath, ['--input-type=module', '--eval', seed]);
  execFileSync('taskset', ['-acp', serverCore, `${pid}`]);
  return {
    name,
    url,
    ca: fs.readFileSync(certificate),
    pid,
    stop: () => endProcess(server),
  };
}

/** Measures both servers under the same load, several times. */
export async function compare(workload: string, [theirs, ours]: readonly [BenchServer, BenchServer]): Promise<void> {
  for (let pair = 0; pair < pairs; pair++) {
    const load = { workload, token: adminToken, seconds };
    const [one, other] = await Promise.all([costOf(theirs, load), costOf(ours, load)]);
    const ratio = other.microseconds / one.microseconds;
    console.log(
      `${workload}: ${theirs.name} ${one.microseconds.toFixed(1)} us, ${ours.name} ${other.microseconds.toFixed(1)} us, ${ours.name} by ${theirs.name} ${ratio.toFixed(3)}`,
    );
  }
}

export interface Turn {
  readonly server: BenchServer;
  /** Token of the user who sends the requests; the administrator's by default. */
  readonly token?: string;
  readonly prepare?: () => Promise<void>;
}

/**
 * Alternates two ways of use of one server, or two servers, in turns so short that the machine's state hardly changes.
 * Two servers that share a core at the same time differ by a tenth even when they do the same. Returns the ratio of CPU
 * time.
 */
export async function compareTurns(workload: string, [first, second]: readonly [Turn, Turn]): Promise<Ratio> {
  const measure = async ({ server, token = adminToken, prepare }: Turn): Promise<Cost> => {
    await prepare?.();
    return costOf(server, { workload, token, seconds: 1 });
  };
  const costs: [Cost, Cost][] = [];
  for (let turn = 0; turn < turns; turn++) costs.push([await measure(first), await measure(second)]);
  console.log(`${workload}, ${first.server.name} and ${second.server.name}, ${turns} turns:`);
  reportRatio('requests a second', costs, ({ perSecond }) => perSecond);
  return reportRatio('us of CPU time', costs, ({ microseconds }) => microseconds);
}

function reportRatio(unit: string, costs: readonly (readonly [Cost, Cost])[], valueOf: (cost: Cost) => number): Ratio {
  const [one, other] = ([0, 1] as const).map(
    (side) => costs.reduce((sum, turn) => sum + valueOf(turn[side]), 0) / turns,
  );
  const ratios = costs.map((turn) => valueOf(turn[1]) / valueOf(turn[0])).toSorted((left, right) => left - right);
  const at = (part: number): number => ratios[Math.floor(turns * part)] ?? Number.NaN;
  const ratio = { low: at(0.25), median: at(0.5), high: at(0.75) };
  const half = `half of the turns between ${ratio.low.toFixed(3)} and ${ratio.high.toFixed(3)}`;
  console.log(`  ${one?.toFixed(1)} and ${other?.toFixed(1)} ${unit}, ratio ${ratio.median.toFixed(3)} (${half})`);
  return ratio;
}

/** What a request costs a server under load. */
interface Cost {
  /** CPU time per request, of all threads. */
  readonly microseconds: number;
  readonly perSecond: number;
}

export interface Load {
  readonly workload: string;
  /** Token of the user who sends the requests. */
  readonly token: string;
  readonly seconds: number;
}

let loads = 0;

/** Puts a server under load and returns its requests per second. */
export async function applyLoad(
  { url }: Pick<BenchServer, 'url'>,
  { workload, token, seconds }: Load,
): Promise<number> {
  // Its number is part of what a run writes: otherwise patches of later runs would change nothing.
  const script = ['-s', path.join(kit, 'wrk.lua'), url, '--', token, workload, String(loads++)];
  const { stdout } = await run(wrk, ['-t1', `-c${connections}`, `-d${seconds}`, ...script]);
  return Number(/RESULT (\S+)/.exec(stdout)?.[1]);
}

async function costOf(side: BenchServer, load: Load): Promise<Cost> {
  if (load.workload === 'watch-fanout') return fanOutCost(side, load);
  const { pid } = side;
  const beforeMs = readProcessorMs(pid);
  const perSecond = await applyLoad(side, load);
  const usedMs = readProcessorMs(pid) - beforeMs;
  return { perSecond, microseconds: (usedMs * 1_000) / (perSecond * load.seconds) };
}

/** Its requests are the events that the watchers receive. */
async function fanOutCost(
  { url, pid }: BenchServer,
  { token, seconds }: Pick<Load, 'token' | 'seconds'>,
): Promise<Cost> {
  const args = [url, token, watchers, writesPerSecond, seconds, pid].map(String);
  const { stdout } = await run(process.execPath, [path.join(kit, 'fan-out.mjs'), ...args]);
  const { cpuUsPerEvent, delivered } = JSON.parse(stdout) as { cpuUsPerEvent: number; delivered: number };
  return { microseconds: cpuUsPerEvent, perSecond: delivered / seconds };
}
