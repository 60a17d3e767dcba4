import { invariant } from '@cluster-apiserver/base';
import type { DeclaredMetric } from './declared-metric.ts';
import { Distribution, type ExemplarTrace } from './distribution.ts';
import {
  contentTypes,
  expose,
  type ExpositionFormat,
  type MetricFamily,
  type MetricType,
  type Sample,
} from './exposition.ts';
import { collectProcessMetrics } from './process-metrics.ts';
import { type Labels, formatLabels, SeriesOf } from './series.ts';

/**
 * Metrics for Prometheus, under the names of kube-apiserver where it has them. Labels that clients can influence declare their
 * values; other values are counted as `other`, so that clients cannot create series. See docs/decisions/0021-metrics.md and
 * 0048.
 */
export interface Metrics {
  counter<Label extends string = never>(declaration: Declaration<Label>): Counter<Label>;
  gauge<Label extends string = never>(declaration: Declaration<Label>): Gauge<Label>;
  histogram<Label extends string = never>(
    declaration: Declaration<Label> & { readonly buckets: readonly number[] },
  ): Histogram<Label>;
  /** Calls `read` at each scrape: for values that are counted elsewhere, or change with time. */
  readAtScrape<Label extends string = never>(
    type: 'counter' | 'gauge',
    declaration: Omit<Declaration<Label>, 'labels'> &
      ([Label] extends [never] ? { readonly labels?: readonly [] } : { readonly labels: readonly Label[] }),
    read: () => readonly { readonly labels: LabelValues<Label>; readonly value: number }[],
  ): void;
  /** Drops the series with these values of labels, of all metrics that have such labels. */
  dropSeries(values: Readonly<Record<string, string>>): void;
  /** All declared metrics, sorted by name. */
  readonly declared: readonly DeclaredMetric[];
  exposition(format: ExpositionFormat): Promise<Exposition>;
}

/** All metrics for a scraper. Pieces are created lazily. */
export interface Exposition {
  readonly contentType: string;
  readonly pieces: Iterable<string>;
}

export interface Declaration<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<Label, Labels[string]>>;
}

type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

export interface Counter<Label extends string> {
  add(labels: LabelValues<Label>, difference?: number): void;
  /** Looks up the series once, for frequent additions. */
  series(labels: LabelValues<Label>): (difference?: number) => void;
}

export interface Gauge<Label extends string> extends Counter<Label> {
  set(labels: LabelValues<Label>, value: number): void;
}

export interface Histogram<Label extends string> {
  observe(labels: LabelValues<Label>, value: number): void;
  /** Looks up the series once, for frequent observations. */
  series(labels: LabelValues<Label>): Observe;
  /** Observes `count` values of which only the sum is known, each as their mean. */
  means(labels: LabelValues<Label>): (sum: number, count: number) => void;
}

/** Observes a value; with a trace it becomes the exemplar of its bucket. */
export type Observe = (value: number, exemplar?: Readonly<{ trace: ExemplarTrace; atSeconds: number }>) => void;

/** Default buckets for seconds: from a cached read to the request timeout. */
export const secondsBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Exponential buckets, each twice as wide as the previous one. */
export const createDoublingBuckets = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => first * 2 ** at);

/** `ofProcess` adds the metrics of the process itself: memory, CPU and event loop. */
export const createMetrics = ({ ofProcess }: { readonly ofProcess: boolean }): Metrics =>
  new Registry(ofProcess ? collectProcessMetrics() : undefined);

class Registry implements Metrics {
  readonly #families: MetricFamily[] = [];
  readonly #series: Pick<SeriesOf<object>, 'drop'>[] = [];
  readonly #declared: DeclaredMetric[] = [];
  readonly #names: Set<string>;
  readonly #ofProcess: ReturnType<typeof collectProcessMetrics> | undefined;

  constructor(ofProcess: ReturnType<typeof collectProcessMetrics> | undefined) {
    this.#ofProcess = ofProcess;
    this.#names = new Set(ofProcess?.declared.map(({ name }) => name));
  }

  counter(declaration: Declaration<string>): Counter<string> {
    return createCounter(this.#addSeries('counter', declaration));
  }

  gauge(declaration: Declaration<string>): Gauge<string> {
    const series = this.#addSeries('gauge', declaration);
    return {
      ...createCounter(series),
      set: (labels, value) => {
        series.of(labels).value = value;
      },
    };
  }

  histogram(declaration: Declaration<string> & { readonly buckets: readonly number[] }): Histogram<string> {
    const { buckets } = declaration;
    const series = new SeriesOf(declaration.labels ?? {}, () => new Distribution(buckets));
    this.#series.push(series);
    this.#publish({ ...declare('histogram', declaration), buckets }, () =>
      Array.from(series.all, ([labels, distribution]) => ({ labels, distribution })),
    );
    return createHistogram(series);
  }

  readAtScrape(
    type: 'counter' | 'gauge',
    { labels = [], ...declaration }: Omit<Declaration<string>, 'labels'> & { readonly labels?: readonly string[] },
    read: () => readonly { readonly labels: LabelValues<string>; readonly value: number }[],
  ): void {
    this.#publish({ ...declare(type, declaration), labels }, () =>
      read().map((sample) => ({ labels: formatLabels(sample.labels), value: sample.value })),
    );
  }

  dropSeries(values: Readonly<Record<string, string>>): void {
    for (const series of this.#series) series.drop(values);
  }

  get declared(): readonly DeclaredMetric[] {
    const all = [...this.#declared, ...(this.#ofProcess?.declared ?? [])];
    return all.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async exposition(format: ExpositionFormat): Promise<Exposition> {
    const all = [...this.#families, ...((await this.#ofProcess?.read()) ?? [])];
    return { contentType: contentTypes[format], pieces: expose(all, format) };
  }

  #addSeries(type: MetricType, declaration: Declaration<string>): SeriesOf<Value> {
    const series = new SeriesOf(declaration.labels ?? {}, () => ({ value: 0 }));
    this.#series.push(series);
    this.#publish(declare(type, declaration), () =>
      Array.from(series.all, ([labels, { value }]) => ({ labels, value })),
    );
    return series;
  }

  #publish(metric: DeclaredMetric, samples: () => Iterable<Sample>): void {
    const { name, help, type } = metric;
    invariant(!this.#names.has(name), `two metrics are named ${name}`);
    this.#names.add(name);
    this.#declared.push(metric);
    this.#families.push({ name, help, type, samples });
  }
}

interface Value {
  value: number;
}

const declare = (type: MetricType, { name, help, labels = {} }: Declaration<string>): DeclaredMetric => ({
  name,
  help,
  type,
  labels: Object.keys(labels),
  buckets: [],
});

const createCounter = (series: SeriesOf<Value>): Counter<string> => ({
  add: (labels, difference = 1) => {
    series.of(labels).value += difference;
  },
  series: (labels) => {
    const found = series.of(labels);
    return (difference = 1) => {
      found.value += difference;
    };
  },
});

const createHistogram = (series: SeriesOf<Distribution>): Histogram<string> => ({
  observe: (labels, value) => series.of(labels).observe(value),
  series: (labels) => {
    const found = series.of(labels);
    return (value, exemplar) =>
      exemplar ? found.observeWithTrace(exemplar.trace, value, exemplar.atSeconds) : found.observe(value);
  },
  means: (labels) => {
    const found = series.of(labels);
    return (sum, count) => found.observeMeans(sum, count);
  },
});
