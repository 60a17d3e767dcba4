import { bytesOfText, bytesOfValue, type Clock, ExpiringCache, keepText } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';

/** Twice as many as in kube-apiserver: readers of 10,000 objects would evict each other's decisions. */
const entriesMax = 16_384;
/** Of keys and reasons: a user in hundreds of groups has long keys. */
const bytesMax = 16 * 1024 * 1024;
/** As in kube-apiserver: a client that makes up long names must not evict other entries. */
const keyCharactersMax = 10_000;

export interface CacheOptions {
  readonly clock: Clock;
  /** 0 disables caching. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
}

/** Evicts the least recently used decision. */
export class DecisionCache {
  readonly #options: CacheOptions;
  readonly #decisions: ExpiringCache<AccessDecision>;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#decisions = new ExpiringCache(options.clock, {
      entriesMax,
      bytesMax,
      bytesOf: (key, decision) => bytesOfText(key) + bytesOfValue(decision),
    });
  }

  get(key: string): AccessDecision | undefined {
    return this.#decisions.get(key);
  }

  set(key: string, decision: AccessDecision): void {
    const { authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const ttlMs = decision.verdict === 'allow' ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttlMs > 0 && key.length <= keyCharactersMax) this.#decisions.set(keepText(key), decision, ttlMs);
  }
}
