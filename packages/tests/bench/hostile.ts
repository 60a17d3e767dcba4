/**
 * Measures how attacks affect a well-behaved client:
 * `npm run bench -- hostile [--only REGEX] [--seconds N] [--json FILE] [--strict]`.
 * The toolchain starts the cluster and passes `--home`. Attacks run one at a time; the server is restarted after an
 * attack that harmed it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { namespaces, serviceAccountsPath } from './hostile/attack.ts';
import { attacks } from './hostile/attacks.ts';
import {
  type AttackReport,
  isRestored,
  missedGoals,
  type PoliteReport,
  tableHead,
  tableRow,
} from './hostile/report.ts';
import { seed } from './hostile/seed.ts';
import {
  clusterFiles,
  longestEventLoopDelayMs,
  probe,
  readProcessState,
  waitUntilReady,
  type ProcessState,
} from '../test/hostile/server-process.ts';

const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '8' },
    json: { type: 'string' },
    strict: { type: 'boolean', default: false },
    'no-pin': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});

/** The server has its own core; the store, the load and the well-behaved client share the other. */
const cores = { server: '0', load: '1' } as const;
const serverPriority = -10;
const samplingMs = 50;
/** Time for memory and descriptors to be released after the attack. */
const restMs = 10_000;
const restPollMs = 500;
/** Time limit of an attack's preparation, and of an attacker that does not end by itself. */
const prepareMs = 60_000;
const overrunMs = 5_000;
/** A server that does not respond for so long after an attack is killed and restarted. */
const stuckMs = 20_000;
const loggedShownMax = 5;

const files = clusterFiles(values.home ?? '');
const pinned = !values['no-pin'];
const program = (name: string): string => path.join(import.meta.dirname, 'hostile', name);

/** Starts a process on the load's core. */
function start(name: string, priority: number, args: readonly string[]): ChildProcess {
  const [command = '', ...waitUntilAtRest] = [
    ...(pinned ? ['taskset', '-c', cores.load] : []),
    // Only root may raise a priority. Without it the client competes with the load for the processor.
    ...(process.getuid?.() === 0 ? ['nice', '-n', `${priority}`] : []),
    ...[process.execPath, '--conditions=source', '--disable-warning=ExperimentalWarning', program(name), ...args],
  ];
  return spawn(command, waitUntilAtRest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** The next message of its kind, an announcement or a report. Undefined if the process ends or the time is up. */
async function message<T>(child: ChildProcess, kind: 'string' | 'object', limitMs: number): Promise<T | undefined> {
  const cancelled = new AbortController();
  const { signal } = cancelled;
  const next = async (): Promise<T> => {
    for (;;) {
      const [value] = (await once(child, 'message', { signal })) as [unknown];
      // Do not take a late announcement for a report.
      if (typeof value === kind) return value as T;
    }
  };
  try {
    return await Promise.race([
      next(),
      once(child, 'exit', { signal }).then(() => undefined),
      sleep(clock, limitMs, signal).then(() => undefined),
    ]);
  } finally {
    cancelled.abort();
  }
}

const errorLines = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => /^E\d{4} |[Uu]ncaught|^\s+at |TypeError|RangeError/.test(line) && !/ check="etcd" /.test(line));

async function prepareServer(): Promise<void> {
  await waitUntilReady(files);
  const { pid } = files.replica();
  if (pinned) spawnSync('taskset', ['-acp', cores.server, `${pid}`]);
  // Other processes of the machine must not make the server look slow. Only root may raise a priority.
  for (const process of [{ pid }, ...files.etcd()])
    spawnSync('renice', ['-n', `${serverPriority}`, '-p', ...threadsOf(process.pid)]);
  // Request every encoding once, so that the measurement does not include compilation.
  const forms = [
    'application/yaml',
    'application/json;as=Table;g=meta.k8s.io;v=v1',
    'application/vnd.kubernetes.protobuf',
  ];
  for (const accept of ['application/json', ...forms])
    await probe(files, serviceAccountsPath(namespaces.small), { accept });
}

/** On Linux, each thread has its own priority; new threads inherit that of their creator. */
const threadsOf = (pid: number): string[] => fs.readdirSync(`/proc/${pid}/task`);

async function measure(attack: (typeof attacks)[number]): Promise<AttackReport> {
  const { pid, url } = files.replica();
  const credentials = [new URL(url).port, files.ca, files.token];
  const before = readProcessState(pid) ?? { residentMiB: 0, descriptors: 0 };
  const loggedBefore = files.log().length;
  const load = start('load.ts', 0, [attack.name, ...credentials, values.seconds]);
  const politeClient = start('polite.ts', serverPriority, [
    ...credentials,
    serviceAccountsPath(namespaces.polite, 'polite'),
  ]);
  let peakMiB = before.residentMiB;
  const sampling = new AbortController();
  void (async () => {
    while (!sampling.signal.aborted) {
      peakMiB = Math.max(peakMiB, readProcessState(pid)?.residentMiB ?? 0);
      await sleep(clock, samplingMs);
    }
  })();
  await Promise.all([message(load, 'string', prepareMs), message(politeClient, 'string', prepareMs)]);
  await longestEventLoopDelayMs(files);
  if (load.connected) load.send('attack');
  const ended = await message<{ readonly counts: Record<string, number> }>(
    load,
    'object',
    Number(values.seconds) * 1_000 + overrunMs,
  );
  load.kill('SIGKILL');
  if (politeClient.connected) politeClient.send('stop');
  const polite = await message<PoliteReport>(politeClient, 'object', stuckMs + overrunMs);
  politeClient.kill('SIGKILL');
  const turnMs = await longestEventLoopDelayMs(files);
  await rest(pid, before);
  sampling.abort();
  return {
    name: attack.name,
    reason: attack.reason,
    polite: polite ?? { answered: 0, errors: { 'no report': 1 }, p50Ms: 0, p99Ms: 0, maxMs: 0, ownDelayMs: 0 },
    before,
    peakMiB,
    after: readProcessState(pid),
    turnMs,
    attacker: ended?.counts,
    logged: errorLines(files.log().slice(loggedBefore)),
  };
}

/** Returns as soon as the goals are met, or at the time limit. */
async function rest(pid: number, before: ProcessState): Promise<void> {
  const endMs = clock.monotonicMs() + restMs;
  while (clock.monotonicMs() < endMs) {
    await sleep(clock, restPollMs);
    const now = readProcessState(pid);
    if (!now || isRestored(before, now)) return;
  }
}

const chosen = attacks.filter(({ name }) => name === 'baseline' || new RegExp(values.only).test(name));
if (values.list) {
  for (const { name, reason } of chosen) console.log(`${name.padEnd(32)} ${reason}`);
  process.exit(0);
}

await waitUntilReady(files);
console.error('Seeding …');
await seed(files);
await prepareServer();
console.log(tableHead);
const reports: AttackReport[] = [];
for (const attack of chosen) {
  const report = await measure(attack);
  reports.push(report);
  console.log(tableRow(report));
  for (const line of report.logged.slice(0, loggedShownMax)) console.error(`    ${line}`);
  const hurt = !report.after || missedGoals(report).length > 0;
  if (hurt && attack.name !== 'baseline') {
    // Restart the server, so that the next attack does not inherit leftover work.
    if (report.after) process.kill(files.replica().pid, 'SIGKILL');
    await prepareServer();
  }
}
const missed = reports.filter((report) => report.name !== 'baseline' && missedGoals(report).length > 0);
const noise = reports.find(({ name }) => name === 'baseline')?.polite;
console.log(
  `\n${reports.length - missed.length} OK, ${missed.length} MISSED. Without an attack the slowest answer took ` +
    `${noise?.maxMs.toFixed(0)} ms and the client itself was held up for ${noise?.ownDelayMs.toFixed(0)} ms.`,
);
if (values.json) fs.writeFileSync(values.json, JSON.stringify(reports, undefined, 1));
process.exit(values.strict && missed.length > 0 ? 1 : 0);
