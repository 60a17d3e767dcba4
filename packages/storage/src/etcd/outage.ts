/**
 * Tracks a loss of quorum. One probe repeats until a quorum responds. Calls meanwhile wait briefly for its success and then
 * fail, instead of each spending its whole retry budget.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdEvent } from './etcd-event.ts';

/** A call just before the end of an outage should succeed; one in the middle of it should fail soon. */
const briefWaitMs = 500;

/** The end of an outage is detected within about this time. */
const probePauseMinMs = 50;
const probePauseMaxMs = 150;

export interface OutageOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: EtcdEvent) => void;
  /** Resolves when a quorum responds. */
  readonly probe: () => Promise<void>;
  /** Whether calls do not wait at all. */
  readonly failsAtOnce: boolean;
}

interface Outage {
  readonly cause: unknown;
  readonly waiting: Set<() => void>;
}

export class OutageTracker {
  readonly #options: OutageOptions;
  #current: Outage | undefined;
  #isClosed = false;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  get isActive(): boolean {
    return this.#current !== undefined;
  }

  begin(cause: unknown): void {
    if (this.#current || this.#isClosed) return;
    this.#current = { cause, waiting: new Set() };
    this.#options.report({ type: 'outage', cause });
    void this.#probeUntilEnd(this.#current);
  }

  /** A response arrived, so the outage is over. */
  end(): void {
    if (!this.#current) return;
    const { waiting } = this.#current;
    this.#current = undefined;
    this.#options.report({ type: 'outage ended' });
    for (const wake of waiting) wake();
  }

  /** Resolves if the outage ends in time, else rejects with a StorageUnavailableError. */
  async waitBriefly(call: Call): Promise<void> {
    if (!this.#current) return;
    const { clock, failsAtOnce } = this.#options;
    const { cause, waiting } = this.#current;
    if (failsAtOnce) throw new StorageUnavailableError('etcd has no quorum', { cause });
    const waitMs = Math.min(briefWaitMs, call.deadlineMs - clock.monotonicMs());
    const ended = await new Promise<boolean>((resolve) => {
      const wake = (): void => {
        cancel();
        resolve(true);
      };
      const cancel = clock.after(Math.max(0, waitMs), () => {
        waiting.delete(wake);
        resolve(false);
      });
      waiting.add(wake);
    });
    if (!ended) throw new StorageUnavailableError('etcd has no quorum', { cause });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** A later outage has a probe of its own. */
  async #probeUntilEnd(outage: Outage): Promise<void> {
    const { clock, random, probe, report } = this.#options;
    while (this.#current === outage && !this.#isClosed) {
      try {
        await probe();
        this.end();
      } catch {
        // The error of the probe says less: all members have failed.
        if (this.#current === outage && !this.#isClosed) report({ type: 'outage goes on', cause: outage.cause });
        await sleep(clock, probePauseMinMs + random.below(probePauseMaxMs - probePauseMinMs));
      }
    }
  }
}
