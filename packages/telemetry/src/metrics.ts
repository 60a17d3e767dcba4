import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { type Labels, SeriesOf } from './series.ts';

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
  /** Read at each scrape: for what is counted elsewhere, or changes by itself as an age does. */
  readAtScrape<Label extends string = never>(
    type: 'counter' | 'gauge',
    declaration: Omit<Declaration<Label>, 'labels'>,
    read: () => readonly { readonly labels: LabelValues<Label>; readonly value: number }[],
  ): void;
  /** All of them in the text format, with its content type. */
  exposition(): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface Declaration<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<Label, Labels[string]>>;
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
  /** Observes values with these labels. For who observes the same ones often: the series is looked up once. */
  series(labels: LabelValues<Label>): (value: number) => void;
}

/** What a metric without its own buckets for seconds would wish for: from a cached read to the request timeout. */
export const secondsBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** For what may last very differently long: each bucket is twice as wide as the one before. */
export const doublingBuckets = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => first * 2 ** at);

/** With the metrics of the process itself (memory, CPU, event loop) where `ofProcess` says so; a test needs none of them. */
/** No name of ours needs an escape: this is what kube-apiserver says, too. */
const escaping = 'escaping=underscores';

export function createMetrics({ ofProcess }: { readonly ofProcess: boolean }): Metrics {
  const register = new Registry();
  if (ofProcess) collectDefaultMetrics({ register });
  const publish = (type: string, declaration: Declaration<string>, values: () => readonly Published[]): void => {
    const { name, help } = declaration;
    const metric = { name, get: async () => ({ name, help, type, aggregator: 'sum', values: values() }) };
    // The registry asks a metric for its name and what `get` gives, and for nothing else.
    register.registerMetric(metric as unknown as Metric);
  };
  const numbers = (type: string, declaration: Declaration<string>): SeriesOf<{ value: number }> => {
    const series = new SeriesOf(labelsOf(declaration), () => ({ value: 0 }));
    publish(type, declaration, () => Array.from(series.all, ({ labels, series: { value } }) => ({ labels, value })));
    return series;
  };
  return {
    counter: (declaration) => {
      const series = numbers('counter', declaration);
      return {
        add: (labels, difference = 1) => {
          series.of(labels).value += difference;
        },
      };
    },
    gauge: (declaration) => {
      const series = numbers('gauge', declaration);
      return {
        add: (labels, difference = 1) => {
          series.of(labels).value += difference;
        },
        set: (labels, value) => {
          series.of(labels).value = value;
        },
      };
    },
    histogram: (declaration) => {
      const { name, buckets } = declaration;
      const series = new SeriesOf(labelsOf(declaration), () => new Distribution(buckets));
      publish('histogram', declaration, () =>
        Array.from(series.all, ({ labels, series }) => series.published(name, labels)).flat(),
      );
      return {
        observe: (labels, value) => series.of(labels).observe(value),
        series: (labels) => {
          const found = series.of(labels);
          return (value) => found.observe(value);
        },
      };
    },
    readAtScrape: (type, declaration, read) => publish(type, declaration, read),
    exposition: async () => ({ contentType: `${register.contentType}; ${escaping}`, text: await register.metrics() }),
  };
}

const labelsOf = ({ labels = {} }: Declaration<string>): Labels => labels;

/** A line of the text format. */
interface Published {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** How many values lay in each bucket, and not in a smaller one. */
class Distribution {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#count++;
    this.#sum += value;
    for (let at = 0; at < this.#bounds.length; at++) {
      if (value > (this.#bounds[at] as number)) continue;
      this.#counts[at] = (this.#counts[at] as number) + 1;
      return;
    }
  }

  /** Each bucket counts what lies in the smaller ones too. */
  published(name: string, labels: Readonly<Record<string, string>>): Published[] {
    let below = 0;
    const buckets = this.#bounds.map((le, at) => {
      below += this.#counts[at] as number;
      return { labels: { le, ...labels }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels: { le: '+Inf', ...labels }, value: this.#count, metricName: `${name}_bucket` },
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: this.#count, metricName: `${name}_count` },
    ];
  }
}
