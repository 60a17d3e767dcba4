import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';

/**
 * Numbers for Prometheus, under upstream's names where upstream counts the same. Each is declared beside the code that
 * moves it, with the values its labels may have where a client has a say in them: whatever else comes is counted as
 * `other`, so that nobody can grow the series from outside.
 */
export interface Metrics {
  counter<Label extends string = never>(declaration: Declaration<Label>): Counter<Label>;
  gauge<Label extends string = never>(declaration: Declaration<Label>): Gauge<Label>;
  histogram<Label extends string = never>(
    declaration: Declaration<Label> & { readonly buckets: readonly number[] },
  ): Histogram<Label>;
  /** All of them in the text format, with its content type. */
  exposition(): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface Declaration<Label extends string> {
  readonly name: string;
  readonly help: string;
  /** For each label the values it may have, or `any` where only we choose them and they are few. */
  readonly labels?: Readonly<Record<Label, readonly string[] | 'any'>>;
}

type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

export interface Counter<Label extends string> {
  add(labels: LabelValues<Label>, difference?: number): void;
}

export interface Gauge<Label extends string> extends Counter<Label> {
  set(labels: LabelValues<Label>, value: number): void;
}

export interface Histogram<Label extends string> {
  observe(labels: LabelValues<Label>, value: number): void;
}

/** What a metric without its own buckets for seconds would wish for: from a cached read to the request timeout. */
export const secondsBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** For what may last very differently long: each bucket is twice as wide as the one before. */
export const doublingBuckets = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => first * 2 ** at);

/** With the metrics of the process itself (memory, CPU, event loop) where `ofProcess` says so; a test needs none of them. */
export function createMetrics({ ofProcess }: { readonly ofProcess: boolean }): Metrics {
  const register = new Registry();
  if (ofProcess) collectDefaultMetrics({ register });
  const configuration = <Label extends string>({ name, help, labels }: Declaration<Label>) => ({
    name,
    help,
    labelNames: Object.keys(labels ?? {}) as Label[],
    registers: [register],
  });
  return {
    counter: (declaration) => {
      const counter = new PromCounter(configuration(declaration));
      const bounded = boundsOf(declaration);
      return { add: (labels, difference = 1) => counter.inc(bounded(labels), difference) };
    },
    gauge: (declaration) => {
      const gauge = new PromGauge(configuration(declaration));
      const bounded = boundsOf(declaration);
      return {
        add: (labels, difference = 1) => gauge.inc(bounded(labels), difference),
        set: (labels, value) => gauge.set(bounded(labels), value),
      };
    },
    histogram: (declaration) => {
      const histogram = new PromHistogram({ ...configuration(declaration), buckets: [...declaration.buckets] });
      const bounded = boundsOf(declaration);
      return { observe: (labels, value) => histogram.observe(bounded(labels), value) };
    },
    exposition: async () => ({ contentType: register.contentType, text: await register.metrics() }),
  };
}

/** Replaces what is not in the list. Most calls hold only known values, and then nothing is copied. */
function boundsOf<Label extends string>({
  labels,
}: Declaration<Label>): (given: LabelValues<Label>) => LabelValues<Label> {
  const bounds = Object.entries<readonly string[] | 'any'>(labels ?? {})
    .filter(([, values]) => values !== 'any')
    .map(([label, values]) => [label as Label, new Set(values)] as const);
  return (given) => {
    const strangers = bounds.filter(([label, values]) => !values.has(given[label]));
    return strangers.length === 0
      ? given
      : { ...given, ...Object.fromEntries(strangers.map(([label]) => [label, 'other'])) };
  };
}
