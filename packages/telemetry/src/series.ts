/** For each label the values it may have, or `any` where only we choose them and they are few. */
export type Labels = Readonly<Record<string, readonly string[] | 'any'>>;

/** What a value of a label stands for that is not in its list. */
const otherValue = 'other';

interface Level {
  readonly name: string;
  readonly known: ReadonlySet<string> | 'any';
}

/** What is behind the values of one label: branches of the next one, or the series behind the last. */
type Branch = Map<string, unknown>;

type LabelValues = Readonly<Record<string, string>>;

/**
 * The series of one metric, one for each combination of labels that was met. They are found value by value, so that to
 * count something makes neither a text nor an object: it is done several times for each request.
 */
export class SeriesOf<Series> {
  readonly #levels: readonly Level[];
  readonly #begin: () => Series;
  readonly #all: { readonly labels: string; readonly series: Series }[] = [];
  /** The branches of the first label; without labels the one series that there is, from the beginning. */
  readonly #root: unknown;

  constructor(labels: Labels, begin: () => Series) {
    this.#levels = Object.entries(labels).map(([name, values]) => ({
      name,
      known: values === 'any' ? 'any' : new Set(values),
    }));
    this.#begin = begin;
    this.#root = this.#levels.length === 0 ? this.#add({}) : new Map();
  }

  /** Each with its labels as they are exposed, without braces: they are written down once, and read at each scrape. */
  get all(): readonly { readonly labels: string; readonly series: Series }[] {
    return this.#all;
  }

  of(labels: LabelValues): Series {
    let at = this.#root;
    for (const { name } of this.#levels) {
      // There is a branch on each level but behind the last.
      at = (at as Branch).get(labels[name] as string);
      if (at === undefined) return this.#findOrCreate(labels);
    }
    return at as Series;
  }

  /** Strangers come here each time, lest they be remembered one by one. */
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
