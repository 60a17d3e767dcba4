import type { Clock } from '@cluster-apiserver/base';
import type { ReviewStatus } from './access-review.ts';

/** Twice as many as in kube-apiserver: readers of 10,000 objects would push out each other's decisions. */
const entriesMax = 16_384;
/** Of keys and reasons, about 16 MB: a user in hundreds of groups has long keys. */
const charactersMax = 8 * 1024 * 1024;
/** As in kube-apiserver: a caller who makes up long names must not push the others out. */
const keyCharactersMax = 10_000;

export interface CacheOptions {
  readonly clock: Clock;
  /** 0 for not at all. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
}

interface Entry {
  readonly status: ReviewStatus;
  readonly untilMs: number;
}

/** Answers by the whole spec of the review, so no two different requests share one. The least recently used goes first. */
export class DecisionCache {
  readonly #options: CacheOptions;
  /** The least recently used comes first. */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  get(key: string): ReviewStatus | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#options.clock.monotonicMs() >= entry.untilMs) {
      this.#delete(key, entry);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.status;
  }

  set(key: string, status: ReviewStatus): void {
    const { clock, authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const ttlMs = status.allowed ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttlMs === 0 || key.length > keyCharactersMax) return;
    const old = this.#entries.get(key);
    if (old) this.#delete(key, old);
    const entry = { status, untilMs: clock.monotonicMs() + ttlMs };
    this.#entries.set(key, entry);
    this.#characters += charactersOf(key, entry);
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#characters <= charactersMax) return;
      this.#delete(oldest, other);
    }
  }

  #delete(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#characters -= charactersOf(key, entry);
  }
}

const charactersOf = (key: string, { status }: Entry): number => key.length + status.reason.length;
