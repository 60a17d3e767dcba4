/**
 * Measures how attacks affect a well-behaved client:
 * `npm run bench -- hostile [--only REGEX] [--seconds N] [--json FILE] [--strict] [--no-pin] [--control]`.
 * The toolchain starts the cluster and passes `--home`. Attacks run one at a time; the server is restarted after an
 * attack that harmed it. After an attack that missed a goal (after each with `--control`), stand-ins with the same use of
 * the processor show what the machine adds.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { namespaces, serviceAccountsPath } from './hostile/attack.ts';
import { attacks } from './hostile/attacks.ts';
import { measureControl } from './hostile/control.ts';
import { type ProcessorTime, processorUse, readProcessorTime } from './hostile/processor-use.ts';
import { cores, createPrograms, nextMessage, raiseSession, servedNice } from './hostile/programs.ts';
import {
  type AttackReport,
  isRestored,
  missedGoals,
  type PoliteReport,
  tableHead,
  tableRow,
  type UseOfAttack,
} from './hostile/report.ts';
import { seed } from './hostile/seed.ts';
import { warmUp } from './hostile/warm-up.ts';
import { collectGarbage, evaluate } from '../test/hostile/inspector.ts';
import {
  clusterFiles,
  countSlowGets,
  longestEventLoopDelayMs,
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
    control: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});

const samplingMs = 50;
/** Time for memory and descriptors to be released after the attack: V8 collects some idle heaps after ten seconds. */
const restMs = 30_000;
const restPollMs = 500;
/** Time limit of an attack's preparation, and of an attacker that does not end by itself. */
const prepareMs = 60_000;
const overrunMs = 5_000;
/** A server that does not respond for so long after an attack is killed and restarted. */
const stuckMs = 20_000;
const loggedShownMax = 5;

const files = clusterFiles(values.home ?? '');
const pinned = !values['no-pin'];
const programs = createPrograms(pinned);
const seconds = Number(values.seconds);

const errorLines = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => /^E\d{4} |[Uu]ncaught|^\s+at |TypeError|RangeError/.test(line) && !/ check="etcd" /.test(line));

async function prepareServer(): Promise<void> {
  await waitUntilReady(files);
  const { pid } = files.replica();
  if (pinned) spawnSync('taskset', ['-acp', cores.server, `${pid}`]);
  // Other processes of the machine must not make the server look slow. Only root may raise a priority.
  for (const process of [{ pid }, ...files.etcd()]) {
    spawnSync('renice', ['-n', `${servedNice}`, '-p', ...threadsOf(process.pid)]);
    raiseSession(process.pid);
  }
  await warmUp(files);
}

/** On Linux, each thread has its own priority; new threads inherit that of their creator. */
const threadsOf = (pid: number): string[] => fs.readdirSync(`/proc/${pid}/task`);

async function measure(attack: (typeof attacks)[number]): Promise<AttackReport> {
  const { pid, url } = files.replica();
  const credentials = [new URL(url).port, files.ca, files.token];
  const before = readProcessState(pid) ?? { residentMiB: 0, descriptors: 0 };
  const loggedBefore = files.log().length;
  const load = programs.start('load', 'normal', [attack.name, ...credentials, values.seconds]);
  const politeClient = programs.start('polite', 'realTime', [
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
  await Promise.all([nextMessage(load, 'string', prepareMs), nextMessage(politeClient, 'string', prepareMs)]);
  await evaluate(pid, beginTurns);
  await longestEventLoopDelayMs(files);
  const slowBefore = await countSlowGets(files);
  const processors = measureProcessors(load.pid);
  if (load.connected) load.send('attack');
  const ended = await nextMessage<{ readonly counts: Record<string, number> }>(
    load,
    'object',
    seconds * 1_000 + overrunMs,
  );
  const use = processors();
  load.kill('SIGKILL');
  if (politeClient.connected) politeClient.send('stop');
  const polite = await nextMessage<PoliteReport>(politeClient, 'object', stuckMs + overrunMs);
  politeClient.kill('SIGKILL');
  const turnMs = await longestEventLoopDelayMs(files);
  const turnProcessorMs = (await evaluate(pid, endTurns).catch(() => undefined)) as number | undefined;
  const slowAfter = await countSlowGets(files);
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
    turnProcessorMs,
    slowGets: slowBefore &&
      slowAfter && {
        over50Ms: slowAfter.over50Ms - slowBefore.over50Ms,
        over100Ms: slowAfter.over100Ms - slowBefore.over100Ms,
      },
    use,
    control: undefined,
    attacker: ended?.counts,
    logged: errorLines(files.log().slice(loggedBefore)),
  };
}

/** In the server. */
const turns = JSON.stringify(fileURLToPath(import.meta.resolve('@cluster-apiserver/testkit/turns')));
const beginTurns = `globalThis.watchedTurns = process.getBuiltinModule('module').createRequire(${turns})(${turns}).watchTurns(); 0`;
const endTurns = 'globalThis.watchedTurns.end()[0]?.processorMs ?? 0';

/** The returned function says how much CPU time each process has used since. */
function measureProcessors(attackerPid: number | undefined): () => UseOfAttack {
  const pids = { server: files.replica().pid, store: files.etcd()[0]?.pid, attacker: attackerPid };
  const read = (): Record<keyof UseOfAttack, ProcessorTime> => ({
    server: readProcessorTime(pids.server),
    store: readProcessorTime(pids.store),
    attacker: readProcessorTime(pids.attacker),
  });
  const beganMs = clock.monotonicMs();
  const before = read();
  return () => {
    const after = read();
    const elapsedMs = clock.monotonicMs() - beganMs;
    return {
      server: processorUse(before.server, after.server, elapsedMs),
      store: processorUse(before.store, after.store, elapsedMs),
      attacker: processorUse(before.attacker, after.attacker, elapsedMs),
    };
  };
}

/** The server is idle meanwhile. */
const withControl = async (report: AttackReport): Promise<AttackReport> => ({
  ...report,
  control: await measureControl({
    ...{ programs, use: report.use, seconds, ca: files.ca, token: files.token },
    ...files.serving,
  }),
});

/**
 * Returns as soon as the goals are met. At the time limit it makes the server collect its garbage, which V8 often leaves
 * while a process is idle.
 */
async function rest(pid: number, before: ProcessState): Promise<void> {
  const endMs = clock.monotonicMs() + restMs;
  while (clock.monotonicMs() < endMs) {
    await sleep(clock, restPollMs);
    const now = readProcessState(pid);
    if (!now || isRestored(before, now)) return;
  }
  await collectGarbage(pid).catch(() => {}); // a server that does not respond misses other goals
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
  const measured = await measure(attack);
  const needsControl = values.control || missedGoals(measured).length > 0;
  const report = needsControl ? await withControl(measured) : measured;
  reports.push(report);
  console.log(tableRow(report));
  // After each attack, so that a run that is cut off keeps its figures.
  if (values.json) fs.writeFileSync(values.json, JSON.stringify(reports, undefined, 1));
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
process.exit(values.strict && missed.length > 0 ? 1 : 0);
