import type { Clock } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';

/** Twice as many as in kube-apiserver: readers of 10,000 objects would evict each other's decisions. */
const entriesMax = 16_384;
/** Characters of keys and reasons, about 16 MB: a user in hundreds of groups has long keys. */
const charactersMax = 8 * 1024 * 1024;
/** As in kube-apiserver: a client that makes up long names must not evict other entries. */
const keyCharactersMax = 10_000;
/** Minimum interval between moves of an entry to the end: a move costs as much as the rest of a read. */
const moveMs = 1_000;

export interface CacheOptions {
  readonly clock: Clock;
  /** 0 disables caching. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
}

interface Entry {
  readonly decision: AccessDecision;
  readonly untilMs: number;
  /** When it was moved to the end. */
  movedMs: number;
}

/** Evicts the least recently used decision, with a precision of one second. */
export class DecisionCache {
  readonly #options: CacheOptions;
  /** The least recently used comes first. */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  get(key: string): AccessDecision | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs >= entry.untilMs) {
      this.#delete(key, entry);
      return undefined;
    }
    if (nowMs - entry.movedMs >= moveMs) {
      entry.movedMs = nowMs;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry.decision;
  }

  set(key: string, decision: AccessDecision): void {
    const { clock, authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const ttlMs = decision.verdict === 'allow' ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttlMs === 0 || key.length > keyCharactersMax) return;
    const old = this.#entries.get(key);
    if (old) this.#delete(key, old);
    const nowMs = clock.monotonicMs();
    const entry = { decision, untilMs: nowMs + ttlMs, movedMs: nowMs };
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

const charactersOf = (key: string, { decision }: Entry): number => key.length + (decision.reason?.length ?? 0);
