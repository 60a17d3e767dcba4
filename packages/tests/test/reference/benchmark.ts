/** What the documents say of measurements, from bench/results.json and bench/measured.json. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bar, barChart } from './bar-chart.ts';
import { code, table } from './markdown.ts';
import { withSections } from './sections.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

/** bench/results.json: the last run of `npm run bench -- --save`. */
interface Results {
  readonly date: string;
  readonly revision: string;
  readonly machine: { readonly processor: string; readonly cores: number; readonly memoryGiB: number };
  readonly node: string;
  readonly etcd: string;
  readonly server: readonly string[];
  readonly reference: { readonly version: string; readonly settings: readonly string[] };
  readonly rounds: number;
  readonly seconds: number;
  readonly workloads: Readonly<Record<string, Figure>>;
  readonly memoryMiB: { readonly server: number; readonly reference: number };
}

interface Figure {
  readonly server: Measurement;
  readonly reference: Measurement;
  /** Median and extremes of the rounds. */
  readonly times: number;
  readonly timesRange: readonly [number, number];
}

interface Measurement {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly errors: number;
}

/**
 * bench/measured.json: figures of other commands, each with its date. `npm run bench -- definitions --save`, `-- sizing --save`
 * and `-- features --save` write theirs.
 */
interface Measured {
  readonly machine: string;
  readonly sizing: readonly {
    readonly part: string;
    readonly plan: string;
    /** What each workload of bench/results.json measures; without it, the three below. */
    readonly workloads?: Readonly<Record<string, string>>;
    readonly measured?: string;
    readonly command?: string;
    readonly date?: string;
  }[];
  readonly features: readonly {
    readonly feature: string;
    readonly workload: string;
    readonly ratio: number;
    readonly range: readonly [number, number];
    readonly goal?: number;
    readonly date: string;
    readonly command: string;
  }[];
  readonly definitions: {
    readonly date: string;
    readonly command: string;
    readonly rows: readonly (readonly [string, string, string])[];
  };
}

/** The workloads in the order of the page. */
const names: Readonly<Record<string, string>> = {
  'get-quorum': 'get, linearizable',
  'get-rv0': 'get from the cache (`resourceVersion=0`)',
  'list-ns100': 'list of 100 objects',
  'list-label': 'list by label, 1 of 10,000',
  'list-all': 'list of 10,000 objects',
  'list-page500': 'list in pages of 500',
  'create-sa': 'create a service account',
  'create-event': 'create an event',
  'patch-merge': 'merge patch',
  'patch-apply': 'server-side apply',
  'watch-fanout': 'watch events, per second of CPU time',
};

const readJson = (name: string): unknown => JSON.parse(readFileSync(join(root, 'bench', name), 'utf8'));
const readResults = (): Results => readJson('results.json') as Results;
const readMeasured = (): Measured => readJson('measured.json') as Measured;

export const readme = (): string => withSections('README.md', { comparison: summaryOf(readResults()) });

export const benchmarksPage = (): string =>
  withSections('docs/benchmarks.md', {
    comparison: comparisonOf(readResults()),
    features: featuresTable(readMeasured()),
    definitions: definitionsTable(readMeasured()),
  });

export const scalingPage = (): string =>
  withSections('docs/scaling.md', { sizing: sizingTable(readMeasured(), readResults()) });

/** The range of the figures of some workloads. */
function timesOf({ workloads }: Results, ...keys: readonly string[]): string {
  const times = keys.map((key) => workloads[key]?.times ?? Number.NaN);
  const [least, most] = [format(Math.min(...times)), format(Math.max(...times))];
  return least === most ? least : `${least} to ${most}`;
}

function summaryOf(results: Results): string {
  const { memoryMiB, date } = results;
  const gets = timesOf(results, 'get-quorum', 'get-rv0');
  const lists = timesOf(results, 'list-ns100', 'list-label', 'list-all', 'list-page500');
  const creates = timesOf(results, 'create-sa', 'create-event');
  const patches = timesOf(results, 'patch-merge', 'patch-apply');
  const events = timesOf(results, 'watch-fanout');
  return `Throughput in multiples of kube-apiserver, on one core each, ${date}: gets ${gets}, lists ${lists}, creates ${creates}. Patches ${patches}, watch events ${events}. Memory after all of it: ${memoryMiB.server} instead of ${memoryMiB.reference} MiB. A kube-apiserver uses several cores, a replica about one.`;
}

function comparisonOf(results: Results): string {
  const { date, machine, node, etcd, server, reference, rounds, seconds, workloads, memoryMiB, revision } = results;
  const rows = entriesOf(workloads).map(([name, figure]) => [
    name,
    `**${format(figure.times)}** (${figure.timesRange.map(format).join(' to ')})`,
    formatRate(figure.server.perSecond),
    formatRate(figure.reference.perSecond),
    `${format(figure.server.p99Ms)} and ${format(figure.reference.p99Ms)} ms`,
  ]);
  const kubeApiserver = reference.version.replace('Kubernetes', 'kube-apiserver');
  return `${table(
    ['', 'this comparison'],
    [
      ['date, revision', `${date}, ${revision}`],
      ['machine', `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; Node.js ${node.slice(1)}`],
      ['this server', `one replica with ${server.join(' and ')}`],
      [kubeApiserver, reference.settings.map(code).join(', ')],
      ['etcd', `${etcd}, one for each server, on the core of the load`],
      ['method', `both servers share a core and alternate; medians of ${rounds} rounds of ${seconds} s`],
    ],
  )}

${table(['workload', 'times kube-apiserver (range)', 'this server/s', 'kube-apiserver/s', 'p99'], rows)}

Resident memory afterwards: ${memoryMiB.server} MiB, kube-apiserver ${memoryMiB.reference} MiB.`;
}

function featuresTable({ machine, features }: Measured): string {
  const measured = features.map(({ command, date }) => `${date}: ${code(command)}`);
  const rows = features.map(({ feature, workload, ratio, range, goal }) => [
    feature,
    workload,
    `${ratio} (${range.join(' to ')})`,
    goal === undefined ? '' : `${goal}${ratio > goal ? ', **missed**' : ''}`,
  ]);
  const head = ['feature', 'workload', 'CPU time, times without it', 'goal'];
  return `${table(head, rows)}\n\n${[...new Set(measured)].join(', ')}. Machine: ${machine}.`;
}

const definitionsTable = ({ definitions: { rows, date, command } }: Measured): string =>
  `${table(['', 'this server', 'kube-apiserver'], rows)}\n\n${date}: ${code(command)}`;

const sizingTable = ({ sizing }: Measured, results: Results): string =>
  table(
    ['', 'measured', 'command, date', 'plan with'],
    sizing.map(({ part, plan, workloads, measured = '', command = '', date = '' }) =>
      workloads
        ? [part, timePerUnit(results, workloads), `${code('npm run bench -- --save')}, ${results.date}`, plan]
        : [part, measured, `${code(command)}, ${date}`, plan],
    ),
  );

/** The rate of a workload is that of a core which does nothing else. */
const timePerUnit = ({ workloads }: Results, named: Readonly<Record<string, string>>): string =>
  Object.entries(named)
    .map(([name, what]) => `${format(1e6 / (workloads[name]?.server.perSecond ?? Number.NaN))} µs ${what}`)
    .join(', ');

const entriesOf = (workloads: Results['workloads']): [string, Figure][] =>
  Object.entries(names).flatMap(([key, name]) => (workloads[key] ? [[name, workloads[key]] as [string, Figure]] : []));

const format = (value: number): string => String(Number(value.toPrecision(2)));
const formatRate = (value: number): string => Math.round(value).toLocaleString('en-US');

/** How many times the throughput of kube-apiserver. */
export function benchmarkChart(): string {
  const { date, workloads } = readResults();
  return barChart({
    title: 'Throughput per core, times kube-apiserver',
    subtitle: `${date}, logarithmic; docs/benchmarks.md has method and figures`,
    ticks: [1, 2, 5, 10, 20, 50, 100, 200],
    bars: entriesOf(workloads).map(([name, { times }]): Bar => ({ name, value: times, isGood: times >= 1 })),
    unit: '×',
    digits: 2,
  });
}

/** What features add to the CPU time of a request. */
export function featuresChart(): string {
  const { features } = readMeasured();
  return barChart({
    title: 'What features cost: CPU time of a request, times without the feature',
    subtitle: 'Red: the goal was missed. docs/benchmarks.md has the figures and their commands',
    ticks: [1, 1.2, 1.5, 2],
    bars: features.map(
      ({ feature, ratio, goal }): Bar => ({ name: feature, value: ratio, isGood: ratio <= (goal ?? ratio) }),
    ),
    unit: '×',
    digits: 3,
  });
}

/** Resident memory of a replica by what it holds. */
export function memoryChart(): string {
  const rows = readMeasured().sizing.flatMap(({ part, measured = '' }) => {
    const [, objects] = /^replica: ([\d,]+ objects of [\d,]+ bytes)$/.exec(part) ?? [];
    const [, mebibytes = ''] = /^([\d,]+) MiB/.exec(measured) ?? [];
    return objects === undefined ? [] : [{ name: objects, value: Number(mebibytes.replaceAll(',', '')) }];
  });
  return barChart({
    title: 'Resident memory of a replica',
    subtitle: 'MiB, logarithmic; docs/scaling.md has the table and its command',
    ticks: [1, 10, 100, 1_000, 10_000],
    bars: rows.map((row): Bar => ({ ...row, isGood: true })),
    unit: '',
    digits: 4,
  });
}
