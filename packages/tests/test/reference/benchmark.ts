/** What README.md says of the last comparison with kube-apiserver, from bench/results.json. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './markdown.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

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

const readResults = (): Results => JSON.parse(readFileSync(join(root, 'bench', 'results.json'), 'utf8')) as Results;

const begin = '<!-- The last comparison, generated from bench/results.json by npm run reference; do not edit -->';
const end = '<!-- End of the last comparison -->';

/** README.md with the section of the last comparison. */
export function readmeWithResults(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [before = '', rest = ''] = readme.split(begin, 2);
  const [, after] = rest.split(end, 2);
  if (after === undefined) throw new Error('README.md has no section for the last comparison');
  return `${before}${begin}\n\n${describeResults(readResults())}\n\n${end}${after}`;
}

function describeResults({
  date,
  machine,
  node,
  etcd,
  server,
  reference,
  rounds,
  seconds,
  workloads,
  memoryMiB,
  revision,
}: Results): string {
  const rows = entriesOf(workloads).map(([name, figure]) => [
    name,
    `**${format(figure.times)}** (${figure.timesRange.map(format).join(' to ')})`,
    formatRate(figure.server.perSecond),
    formatRate(figure.reference.perSecond),
    `${format(figure.server.p99Ms)} and ${format(figure.reference.p99Ms)} ms`,
  ]);
  return `Per core: one replica and one ${reference.version.replace('Kubernetes', 'kube-apiserver')} with \`${reference.settings.join('`, `')}\` share a core and take turns, each with an etcd ${etcd} of its own; etcd and the load have the other core. This server runs with ${server.join(' and ')}; kube-apiserver neither checks rights nor encrypts. ${date}, revision ${revision}, ${machine.processor}, ${machine.cores} cores, Node.js ${node.slice(1)}; medians of ${rounds} rounds of ${seconds} s.

${table(['workload', 'times kube-apiserver (range)', 'this server/s', 'kube-apiserver/s', 'p99'], rows)}

Resident memory afterwards: ${memoryMiB.server} MiB, kube-apiserver ${memoryMiB.reference} MiB.`;
}

const entriesOf = (workloads: Results['workloads']): [string, Figure][] =>
  Object.entries(names).flatMap(([key, name]) => (workloads[key] ? [[name, workloads[key]] as [string, Figure]] : []));

const format = (value: number): string => String(Number(value.toPrecision(2)));
const formatRate = (value: number): string => Math.round(value).toLocaleString('en-US');

const width = 760;
const plot = { left: 300, right: 690, top: 66, rowHeight: 26, barHeight: 16 };
const ticks = [1, 2, 5, 10, 20, 50, 100, 200];

/** Bars on a logarithmic scale: how many times the throughput of kube-apiserver. */
export function benchmarkChart(): string {
  const { date, workloads } = readResults();
  const rows = entriesOf(workloads);
  const most = Math.max(...rows.map(([, { times }]) => times));
  const top = ticks.find((tick) => tick >= most) ?? most;
  const x = (times: number): number =>
    Math.round(plot.left + (Math.log(Math.max(times, 0.5)) / Math.log(top)) * (plot.right - plot.left));
  const bottom = plot.top + rows.length * plot.rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 34}" width="${width}" height="${bottom + 34}" font-family="sans-serif" font-size="13" fill="#333">`,
    '<title>Throughput per core, times kube-apiserver</title>',
    `<rect width="${width}" height="${bottom + 34}" fill="#fff"/>`,
    `<text x="16" y="26" font-size="16" font-weight="bold">Throughput per core, times kube-apiserver</text>`,
    `<text x="16" y="46" fill="#666">${date}, logarithmic; method and figures below</text>`,
    ...ticks
      .filter((tick) => tick <= top)
      .flatMap((tick) => [
        `<path d="M${x(tick)} ${plot.top - 6}V${bottom}" stroke="${tick === 1 ? '#333' : '#ddd'}"/>`,
        `<text x="${x(tick)}" y="${bottom + 20}" text-anchor="middle">${tick}×</text>`,
      ]),
    ...rows.flatMap(([name, { times }], index) => {
      const y = plot.top + index * plot.rowHeight;
      const [from, to] = [Math.min(x(1), x(times)), Math.max(x(1), x(times))];
      return [
        `<text x="${plot.left - 12}" y="${y + 13}" text-anchor="end">${name.replaceAll('`', '')}</text>`,
        `<rect x="${from}" y="${y}" width="${to - from}" height="${plot.barHeight}" fill="${times >= 1 ? '#2f6fd0' : '#c0392b'}"/>`,
        `<text x="${to + 6}" y="${y + 13}">${format(times)}</text>`,
      ];
    }),
    '</svg>\n',
  ].join('\n');
}
