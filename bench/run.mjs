#!/usr/bin/env node
// Measures a server beside a kube-apiserver, or beside the recorded figures of one. See README.md.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { hasProgram, onCore, pin, residentMiB, serverCore } from './processes.mjs';
import { seed } from './targets.mjs';
import { workloads } from './workloads.mjs';

const usage = `usage: run.mjs --server URL --token TOKEN --pids PID[,PID] --etcd URL
               [--reference-server URL --reference-token TOKEN --reference-pids PID[,PID]]
               [--only REGEX] [--seconds N] [--rounds N] [--json FILE] [--no-pin]

  --pids     the processes of the server; they are pinned to core 0, the load to core 1
  --etcd     etcd of the server, for the baseline of writes
  --only     workloads whose name matches
  --seconds  duration of a measurement (default: 2)
  --rounds   measurements of each workload, in turn; the median counts (default: 3)
  --json     writes the figures to a file`;

const { values: options } = parseArgs({
  options: {
    server: { type: 'string' },
    token: { type: 'string', default: '' },
    pids: { type: 'string', default: '' },
    etcd: { type: 'string', default: 'http://127.0.0.1:2379' },
    'reference-server': { type: 'string' },
    'reference-token': { type: 'string', default: '' },
    'reference-pids': { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'string' },
    'no-pin': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const isPinned = !options['no-pin'];
const baselinePort = 17_999;
const fixed = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'fixed-reference.json'), 'utf8'));

function targets() {
  const listOf = (text) => text.split(',').filter(Boolean);
  const own = { url: options.server, token: options.token, pids: listOf(options.pids) };
  const reference = {
    url: options['reference-server'],
    token: options['reference-token'],
    pids: listOf(options['reference-pids']),
  };
  return { own, reference: reference.url ? reference : undefined };
}

async function main({ own, reference }) {
  const missing = [process.env.WRK_BIN ?? 'wrk', 'openssl', ...(isPinned ? ['taskset'] : [])].filter(
    (program) => !hasProgram(program),
  );
  if (missing.length > 0) {
    console.error(`The bench needs ${missing.join(' and ')}: install it first.`);
    return 2;
  }
  const measured = reference ? [own, reference] : [own];
  if (isPinned) for (const { pids } of measured) pin(serverCore, pids);
  const baseline = await startBaseline();
  try {
    const chosen = workloads({ seconds: Number(options.seconds), isPinned, baseline: baseline.target }).filter(
      ({ name }) => new RegExp(options.only).test(name),
    );
    for (const objects of new Set(chosen.map((one) => one.objects)))
      for (const target of measured) await seed(target, objects);
    printHead(reference !== undefined);
    const figures = Object.fromEntries(chosen.map((workload) => [workload.name, measure(workload, own, reference)]));
    const memoryMiB = {
      server: Math.round(residentMiB(own.pids)),
      reference: reference ? Math.round(residentMiB(reference.pids)) : fixed.rssMiB,
    };
    console.log(`resident memory afterwards: ${memoryMiB.server} MiB, kube-apiserver ${memoryMiB.reference} MiB`);
    const report = {
      rounds: Number(options.rounds),
      seconds: Number(options.seconds),
      isReferenceMeasured: reference !== undefined,
      workloads: figures,
      memoryMiB,
    };
    if (options.json) fs.writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`);
  } finally {
    baseline.stop();
  }
  return 0;
}

/** A bare server with a certificate of its own. */
async function startBaseline() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-'));
  const [certificate, key] = [path.join(home, 'certificate.pem'), path.join(home, 'key.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', ...curve, '-nodes', ...files, '-days', '2', '-subj', '/CN=localhost'], {
    stdio: 'pipe',
  });
  const program = path.join(import.meta.dirname, 'baseline-server.mjs');
  const args = [program, String(baselinePort), certificate, key];
  const [command, ...rest] = onCore(isPinned ? serverCore : undefined, process.execPath, args);
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const target = {
    url: `https://127.0.0.1:${baselinePort}`,
    token: '',
    pids: [String(child.pid)],
    etcd: options.etcd,
  };
  const stop = () => {
    child.kill();
    fs.rmSync(home, { recursive: true, force: true });
  };
  return { target, stop };
}

/** The baseline and the servers alternate, so that a slow minute of the machine affects all of them. */
function measure({ name, measure: run, measureBaseline }, own, reference) {
  const rounds = Array.from({ length: Number(options.rounds) }, () => ({
    baseline: measureBaseline(),
    server: run(own),
    reference: reference && run(reference),
  }));
  const ofBaseline = medianOf(rounds.map(({ server, baseline }) => server.perSecond / baseline.perSecond));
  const times = reference
    ? rounds.map((round) => round.server.perSecond / round.reference.perSecond)
    : rounds.map((round) => round.server.perSecond / round.baseline.perSecond / (fixed.ratios[name] ?? Number.NaN));
  const figure = {
    baseline: { perSecond: round(medianOf(rounds.map(({ baseline }) => baseline.perSecond))) },
    server: summarize(rounds.map(({ server }) => server)),
    ...(reference && { reference: summarize(rounds.map((one) => one.reference)) }),
    ofBaseline: round(ofBaseline),
    times: round(medianOf(times)),
    timesRange: [round(Math.min(...times)), round(Math.max(...times))],
  };
  printRow(name, figure);
  return figure;
}

function medianOf(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}
const round = (number) => Number(number.toPrecision(4));

const summarize = (runs) => ({
  perSecond: round(medianOf(runs.map(({ perSecond }) => perSecond))),
  p50Ms: round(medianOf(runs.map(({ p50Ms }) => p50Ms))),
  p99Ms: round(medianOf(runs.map(({ p99Ms }) => p99Ms))),
  errors: runs.reduce((sum, { errors }) => sum + errors, 0),
});

const columns = [
  'workload',
  'baseline/s',
  'server/s',
  'kube/s',
  'times',
  'range',
  'p50 ms',
  'kube',
  'p99 ms',
  'kube',
  'errors',
];
const widths = [14, 12, 10, 10, 7, 13, 8, 8, 8, 8, 7];

const print = (cells) =>
  console.log(cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join(' '));

function printHead(isReferenceMeasured) {
  const note = `The figures of kube-apiserver are of another day (${fixed.server}).`;
  if (!isReferenceMeasured) console.log(note);
  print(columns);
}

function printRow(name, { baseline, server, reference, times, timesRange }) {
  const cells = [baseline.perSecond, server.perSecond, reference?.perSecond ?? '-', times, timesRange.join('-')];
  const latencies = [server.p50Ms, reference?.p50Ms ?? '-', server.p99Ms, reference?.p99Ms ?? '-'];
  print([name, ...[...cells, ...latencies, server.errors + (reference?.errors ?? 0)].map(String)]);
}

if (options.help || !options.server) {
  console.log(usage);
  process.exitCode = options.help ? 0 : 2;
} else process.exitCode = await main(targets());
