/** The trace in which a value was observed. */
export interface ExemplarTrace {
  readonly traceId: string;
  readonly spanId: string;
}

/** An example value of a bucket. */
export interface Exemplar extends ExemplarTrace {
  readonly value: number;
  readonly atSeconds: number;
}

/** Number of values per bucket, not cumulative. The last bucket has no upper bound. */
export class Distribution {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  /** The latest of each bucket; allocated with the first one, because most servers do not trace. */
  exemplars: (Exemplar | undefined)[] | undefined;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.#count(value, 1);
  }

  observeMeans(sum: number, count: number): void {
    if (count === 0) return;
    this.sum += sum;
    this.#count(sum / count, count);
  }

  observeWithTrace(trace: ExemplarTrace, value: number, atSeconds: number): void {
    this.sum += value;
    const at = this.#count(value, 1);
    const { traceId, spanId } = trace;
    (this.exemplars ??= [])[at] = { traceId, spanId, value, atSeconds };
  }

  #count(value: number, times: number): number {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? Number.POSITIVE_INFINITY)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + times;
    return at;
  }
}
