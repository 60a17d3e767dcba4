/** The allowed values of each label; `any` if the server chooses them and they are few. */
export type Labels = Readonly<Record<string, readonly string[] | 'any'>>;

/** Replaces values that are not allowed. */
const otherValue = 'other';

interface Level {
  readonly name: string;
  readonly known: ReadonlySet<string> | 'any';
}

/** By value of one label: the branches of the next label, or the series for the last one. */
type Branch = Map<string, unknown>;

type LabelValues = Readonly<Record<string, string>>;

/**
 * The series of one metric, by label values. Nested maps find a series without allocating a string or an object: that
 * happens several times per request.
 */
export class SeriesOf<Series> {
  readonly #levels: readonly Level[];
  readonly #begin: () => Series;
  readonly #all: { readonly labels: string; readonly series: Series }[] = [];
  /** The branches of the first label; without labels the only series. */
  readonly #root: unknown;

  constructor(labels: Labels, begin: () => Series) {
    this.#levels = Object.entries(labels).map(([name, values]) => ({
      name,
      known: values === 'any' ? 'any' : new Set(values),
    }));
    this.#begin = begin;
    this.#root = this.#levels.length === 0 ? this.#add({}) : new Map();
  }

  /** All series with their formatted labels, without braces. */
  get all(): readonly { readonly labels: string; readonly series: Series }[] {
    return this.#all;
  }

  of(labels: LabelValues): Series {
    let at = this.#root;
    for (const { name } of this.#levels) {
      // All levels but the last have branches.
      at = (at as Branch).get(labels[name] as string);
      if (at === undefined) return this.#findOrCreate(labels);
    }
    return at as Series;
  }

  /** Values that are not allowed always take this path, because they are not stored. */
  #findOrCreate(given: LabelValues): Series {
    const labels: Record<string, string> = {};
    let at = this.#root as Branch;
    this.#levels.forEach(({ name, known }, depth) => {
      const value = String(given[name]);
      const counted = known === 'any' || known.has(value) ? value : otherValue;
      labels[name] = counted;
      const isLast = depth === this.#levels.length - 1;
      if (!at.has(counted)) at.set(counted, isLast ? this.#add(labels) : new Map());
      at = at.get(counted) as Branch;
    });
    return at as Series;
  }

  #add(labels: LabelValues): Series {
    const series = this.#begin();
    this.#all.push({ labels: formatLabels(labels), series });
    return series;
  }
}

/** `verb="GET",code="200"` */
export const formatLabels = (labels: Readonly<Record<string, string | number>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(String(value))}"`)
    .join(',');

const escapeValue = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
