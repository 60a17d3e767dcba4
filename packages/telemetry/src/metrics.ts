import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * What the server counts, under upstream's names where upstream counts the same, so that dashboards and alerts made for
 * it fit. Label values are few: nothing that a client may choose freely is one.
 */
export interface Metrics {
  readonly contentType: string;
  /** All metrics as Prometheus reads them. */
  exposition(): Promise<string>;
  counter<L extends string>(name: string, help: string, labels: readonly L[]): { add(labels: Record<L, string>): void };
  gauge(name: string, help: string): { add(difference: number): void };
  histogram<L extends string>(name: string, help: string, labels: readonly L[], buckets: readonly number[]): { observe(labels: Record<L, string>, value: number): void };
}

export function openMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    contentType: registry.contentType,
    exposition: () => registry.metrics(),
    counter: (name, help, labelNames) => {
      const counter = new Counter({ name, help, labelNames, registers });
      return { add: (labels) => counter.inc(labels) };
    },
    gauge: (name, help) => {
      const gauge = new Gauge({ name, help, registers });
      return { add: (difference) => gauge.inc(difference) };
    },
    histogram: (name, help, labelNames, buckets) => {
      const histogram = new Histogram({ name, help, labelNames, buckets: [...buckets], registers });
      return { observe: (labels, value) => histogram.observe(labels, value) };
    },
  };
}
