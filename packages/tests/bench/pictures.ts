/**
 * Draws main panels of the dashboard in deploy/monitoring from two minutes of load on a cluster, and photographs the API
 * reference, into docs/images: `npm run pictures`. The toolchain starts the cluster and passes `--home`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterFiles } from '../test/hostile/server-process.ts';
import { dashboardPanels, type DashboardPanel } from '../test/metrics/monitoring.ts';
import { type Prometheus, startPrometheus } from '../test/metrics/prometheus.ts';
import { drawLineChart, type Series } from './pictures/line-chart.ts';
import { sendLoad } from './pictures/load.ts';
import { photographReference } from './pictures/reference.ts';

const images = join(import.meta.dirname, '..', '..', '..', 'docs', 'images');
const recordedSeconds = 120;
const stepSeconds = 2;
/** Short, because the recording is. */
const rateInterval = '15s';

/** The panels of the documentation, by row and title, with the names of their files. */
const drawn: Readonly<Record<string, string>> = {
  'Requests: Requests by verb': 'requests-by-verb',
  'Service level: Errors by code': 'errors-by-code',
  'Watches and the watch cache: Events sent': 'events-sent',
  'etcd: Latency, 99th percentile': 'etcd-latency',
  'Process: Memory': 'memory',
};

const { values } = parseArgs({ options: { home: { type: 'string', default: '' } } });
const files = clusterFiles(values.home);
const cluster = {
  urls: files.replicas().map(({ url }) => url),
  certificate: readFileSync(files.ca),
  token: readFileSync(files.token, 'utf8').trim(),
};

writeFileSync(join(images, 'reference.png'), await photographReference(join(values.home, 'kubeconfig')));
console.log('docs/images/reference.png: the API reference');

const prometheus = await startPrometheus(process.env['PROMETHEUS_BIN'] ?? '', cluster);
try {
  const ended = AbortSignal.timeout(recordedSeconds * 1_000);
  console.log(`Recording ${recordedSeconds} seconds of load …`);
  await sendLoad(cluster, ended);
  const end = Date.now() / 1_000;
  for (const panel of dashboardPanels) {
    const name = drawn[`${panel.row}: ${panel.title}`];
    if (name === undefined) continue;
    const series = await queryPanel(prometheus, panel, end - recordedSeconds, end);
    const title = `${panel.row}: ${panel.title}`;
    writeFileSync(
      join(images, `${name}.svg`),
      drawLineChart({ title, unit: panel.unit, seconds: recordedSeconds, series }),
    );
    console.log(`docs/images/${name}.svg: ${title}, ${series.length} series`);
  }
} finally {
  await prometheus.stop();
}

interface RangeResult {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

/** Runs the queries of a panel as Grafana does. */
async function queryPanel(
  { api }: Prometheus,
  { targets }: DashboardPanel,
  start: number,
  end: number,
): Promise<readonly Series[]> {
  const found = targets.map(async ({ query, legend }) => {
    const { result } = await api<{ readonly result: readonly RangeResult[] }>('query_range', {
      query: query(rateInterval),
      start: String(start),
      end: String(end),
      step: String(stepSeconds),
    });
    return result.map(({ metric, values: points }) => ({
      name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
      // A rate without requests is NaN.
      points: points
        .map(([at, value]) => [at - start, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value)),
    }));
  });
  return (await Promise.all(found)).flat().filter(({ points }) => points.length > 0);
}
