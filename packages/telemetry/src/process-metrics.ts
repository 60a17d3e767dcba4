import { collectDefaultMetrics, type MetricObject, Registry } from 'prom-client';
import type { MetricFamily, MetricType, Sample } from './exposition.ts';
import type { DeclaredMetric } from './metrics.ts';
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
    declared: (register.getMetricsAsArray() as readonly object[] as readonly PromClientMetric[]).map(
      ({ name, help, type, labelNames, upperBounds }) => ({
        name,
        help,
        type: type as MetricType,
        labels: labelNames,
        buckets: upperBounds ?? [],
      }),
    ),
    read: async () => (await register.getMetricsAsJSON()).map(toFamily),
  };
}

/** The metric of prom-client; its types only declare the constructor options. */
interface PromClientMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly upperBounds?: readonly number[];
}

const toFamily = (metric: MetricObject): MetricFamily => {
  const { name, help, values = [] } = metric as MetricObject & { readonly values?: readonly Value[] };
  const samples = values.map(
    ({ labels, value, metricName = name }): Sample => ({
      labels: formatLabels(labels),
      value,
      suffix: metricName.slice(name.length),
    }),
  );
  // prom-client names its types as Prometheus does.
  return { name, help, type: metric.type as unknown as MetricType, samples: () => samples };
};

interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}
