import type { MetricType } from './exposition.ts';

/** The declaration of a metric, for documentation. */
export interface DeclaredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
}
