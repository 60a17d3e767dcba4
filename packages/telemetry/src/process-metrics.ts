import { requireValue } from '@cluster-apiserver/base';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { MetricFamily, MetricType, Sample } from './exposition.ts';
import type { DeclaredMetric } from './declared-metric.ts';
import { formatLabels } from './series.ts';

/** Gauges with names of counters, which confuse tools; the sums over their types are equivalent. */
const unused: ReadonlySet<string> = new Set([
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]);

/** Memory, CPU, descriptors and event loop of the process, as prom-client measures them. */
export interface ProcessMetrics {
  readonly declared: readonly DeclaredMetric[];
  read(): Promise<readonly MetricFamily[]>;
}

export function collectProcessMetrics(): ProcessMetrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  for (const name of unused) register.removeSingleMetric(name);
  return {
    declared: register.getMetricsAsArray().map(toDeclared),
    read: async () => (await register.getMetricsAsJSON()).map(toFamily),
  };
}

type PromClientMetric = ReturnType<Registry['getMetricsAsArray']>[number];
type MeasuredMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

function toDeclared(metric: PromClientMetric): DeclaredMetric {
  // prom-client does not declare these two, though each metric has the first and each histogram the second.
  const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.filter(isText) : [];
  const buckets =
    'upperBounds' in metric && Array.isArray(metric.upperBounds) ? metric.upperBounds.filter(isNumber) : [];
  return { name: metric.name, help: metric.help, type: toMetricType(metric.type), labels, buckets };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

function toFamily({ name, help, type, values }: MeasuredMetric): MetricFamily {
  const samples = values.map(
    ({ labels, value, ...more }): Sample => ({
      labels: formatLabels(labels),
      value,
      // prom-client does not declare the name of a sample, which says what part of a histogram it is.
      suffix: 'metricName' in more && isText(more.metricName) ? more.metricName.slice(name.length) : '',
    }),
  );
  return { name, help, type: toMetricType(type), samples: () => samples };
}

const metricTypes: readonly MetricType[] = ['counter', 'gauge', 'histogram', 'summary'];

/** prom-client declares numbers, and names its types as Prometheus does. */
const toMetricType = (type: unknown): MetricType =>
  requireValue(
    metricTypes.find((name) => name === type),
    'prom-client names the type of a metric',
  );
