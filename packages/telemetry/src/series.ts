import { keepText, requireValue } from '@cluster-apiserver/base';

/** The allowed values of each label; `any` if the server chooses them and they are few. */
export type Labels = Readonly<Record<string, readonly string[] | 'any'>>;

/** Of one metric, about a kilobyte each: objects can be created under ever new names, and are label values. */
const seriesMax = 10_000;

/** Replaces values that are not allowed. */
const otherValue = 'other';

interface Level {
  readonly name: string;
  readonly known: ReadonlySet<string> | 'any';
}

/** The branches by value of the next label; below the last label the series. */
class Branch<Series> {
  readonly next = new Map<string, Branch<Series>>();
  series: Series | undefined;
}

type LabelValues = Readonly<Record<string, string>>;

/**
 * The series of one metric, by label values. Nested maps find a series without allocating a string or an object: that
 * happens several times per request.
 */
export class SeriesOf<Series extends object> {
  readonly #levels: readonly Level[];
  readonly #begin: () => Series;
  /** By their formatted labels, without braces. */
  readonly #all = new Map<string, Series>();
  readonly #root = new Branch<Series>();

  constructor(labels: Labels, begin: () => Series) {
    this.#levels = Object.entries(labels).map(([name, values]) => ({
      name,
      known: values === 'any' ? 'any' : new Set(values),
    }));
    this.#begin = begin;
    // Without labels there is one series from the start.
    if (this.#levels.length === 0) this.#root.series = this.#add({});
  }

  /** All series with their formatted labels, without braces. */
  get all(): Iterable<readonly [labels: string, series: Series]> {
    return this.#all;
  }

  /** Drops all series with these values of labels. What a holder of one of them still counts is lost. */
  drop(values: LabelValues): void {
    if (Object.keys(values).every((name) => this.#levels.some((level) => level.name === name)))
      this.#dropBelow(this.#root, {}, values);
  }

  /** `labels`: those of the branch. Goes only where the values are, and removes branches that end nowhere. */
  #dropBelow(branch: Branch<Series>, labels: LabelValues, values: LabelValues): void {
    const level = this.#levels[Object.keys(labels).length];
    if (!level) {
      this.#all.delete(formatLabels(labels));
      branch.series = undefined;
      return;
    }
    const { name } = level;
    const wanted = values[name];
    for (const value of wanted === undefined ? branch.next.keys() : [wanted]) {
      const next = branch.next.get(value);
      if (!next) continue;
      this.#dropBelow(next, { ...labels, [name]: value }, values);
      if (!next.series && next.next.size === 0) branch.next.delete(value);
    }
  }

  of(labels: LabelValues): Series {
    return this.#find(labels) ?? this.#findOrCreate(labels);
  }

  #find(labels: LabelValues): Series | undefined {
    let at: Branch<Series> | undefined = this.#root;
    for (const { name } of this.#levels) {
      const value = labels[name];
      at = value === undefined ? undefined : at.next.get(value);
      if (at === undefined) return undefined;
    }
    return at.series;
  }

  /** Values that are not allowed always take this path, because they are not stored. */
  #findOrCreate(given: LabelValues): Series {
    const labels: Record<string, string> = {};
    for (const { name, known } of this.#levels) {
      const value = String(given[name]);
      labels[name] = known === 'any' || known.has(value) ? value : otherValue;
    }
    const existing = this.#find(labels);
    if (existing) return existing;
    if (this.#all.size >= seriesMax)
      for (const { name, known } of this.#levels) if (known === 'any') labels[name] = otherValue;
    let at = this.#root;
    for (const { name } of this.#levels) {
      const value = requireValue(labels[name]);
      let next = at.next.get(value);
      if (!next) at.next.set(keepText(value), (next = new Branch()));
      at = next;
    }
    return (at.series ??= this.#add(labels));
  }

  #add(labels: LabelValues): Series {
    const text = formatLabels(labels);
    let series = this.#all.get(text);
    if (!series) this.#all.set(text, (series = this.#begin()));
    return series;
  }
}

/** `verb="GET",code="200"` */
export const formatLabels = (labels: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(labels)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}="${escapeValue(String(value))}"`))
    .join(',');

const escapeValue = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
