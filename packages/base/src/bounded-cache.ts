import type { Clock } from './clock.ts';

export interface CacheBounds<Value> {
  readonly entriesMax: number;
  /** Sum of what `bytesOf` returns; an entry that is larger alone is not kept. */
  readonly bytesMax?: number | undefined;
  readonly bytesOf?: ((key: string, value: Value) => number) | undefined;
  /** Called for each evicted value. */
  readonly onEvict?: ((value: Value) => void) | undefined;
}

interface Cached<Value> {
  readonly value: Value;
  readonly bytes: number;
  /** The number of moves and writes of the cache when the entry was moved to the end. */
  movedAt: number;
}

/**
 * A cache that is bounded in entries and bytes, and evicts the least recently used ones. A move costs as much as a read, so
 * an entry moves only after some others have: its age is known to an eighth of the cache.
 */
export class BoundedCache<Value> {
  readonly #bounds: CacheBounds<Value>;
  /** The least recently used comes first. */
  readonly #entries = new Map<string, Cached<Value>>();
  #bytes = 0;
  #moves = 0;

  constructor(bounds: CacheBounds<Value>) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#moves - entry.movedAt > this.#entries.size / 8) {
      entry.movedAt = ++this.#moves;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry.value;
  }

  set(key: string, value: Value): void {
    const { entriesMax, bytesMax = Number.POSITIVE_INFINITY, bytesOf } = this.#bounds;
    this.delete(key);
    const bytes = bytesOf?.(key, value) ?? 0;
    if (bytes > bytesMax) return;
    this.#entries.set(key, { value, bytes, movedAt: ++this.#moves });
    this.#bytes += bytes;
    for (const [oldest, evicted] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#bytes <= bytesMax) return;
      this.delete(oldest);
      this.#bounds.onEvict?.(evicted.value);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  /** All values, the least recently used first. */
  *values(): Generator<Value, void> {
    for (const { value } of this.#entries.values()) yield value;
  }

  deleteIf(isGone: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries) if (isGone(value)) this.delete(key);
  }
}

/** Any use of the cache removes all expired entries, at this interval. */
const sweepMs = 10_000;

interface Expiring<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

/** A bounded cache whose entries expire. */
export class ExpiringCache<Value> {
  readonly #clock: Clock;
  readonly #cache: BoundedCache<Expiring<Value>>;
  #sweptMs = 0;

  constructor(clock: Clock, { entriesMax, bytesMax, bytesOf }: Omit<CacheBounds<Value>, 'onEvict'>) {
    this.#clock = clock;
    this.#cache = new BoundedCache({
      entriesMax,
      bytesMax,
      ...(bytesOf && { bytesOf: (key, { value }) => bytesOf(key, value) }),
    });
  }

  get size(): number {
    return this.#cache.size;
  }

  get(key: string): Value | undefined {
    const nowMs = this.#clock.monotonicMs();
    this.#sweep(nowMs);
    const found = this.#cache.get(key);
    return found && nowMs < found.untilMs ? found.value : undefined;
  }

  set(key: string, value: Value, ttlMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#sweep(nowMs);
    this.#cache.set(key, { value, untilMs: nowMs + ttlMs });
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < sweepMs) return;
    this.#sweptMs = nowMs;
    this.#cache.deleteIf(({ untilMs }) => untilMs <= nowMs);
  }
}
