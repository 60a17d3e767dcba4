/**
 * Tracks a loss of quorum. One probe repeats until a quorum responds. Calls meanwhile wait briefly for its success and then
 * fail, instead of each spending its whole retry budget.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdEvent } from './client.ts';

export interface OutageTracker {
  readonly isActive: boolean;
  begin(cause: unknown): void;
  /** A response arrived, so the outage is over. */
  end(): void;
  /** Resolves if the outage ends in time, else rejects with a StorageUnavailableError. */
  waitBriefly(call: Call): Promise<void>;
  close(): void;
}

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
}

export function trackOutage({ clock, random, report, probe }: OutageOptions): OutageTracker {
  let current: { readonly cause: unknown; readonly sinceMs: number; readonly waiting: Set<() => void> } | undefined;
  let closed = false;

  const end = (): void => {
    if (!current) return;
    const { sinceMs, waiting } = current;
    current = undefined;
    report({ type: 'outage ended', afterMs: clock.monotonicMs() - sinceMs });
    for (const wake of waiting) wake();
  };
  const probeUntilEnd = async (): Promise<void> => {
    const probed = current;
    // An outage that began after this one has a probe of its own.
    while (current === probed && !closed) {
      try {
        await probe();
        end();
      } catch {
        await sleep(clock, probePauseMinMs + random.below(probePauseMaxMs - probePauseMinMs));
      }
    }
  };

  return {
    get isActive() {
      return current !== undefined;
    },
    begin: (cause) => {
      if (current || closed) return;
      current = { cause, sinceMs: clock.monotonicMs(), waiting: new Set() };
      report({ type: 'outage began', cause });
      void probeUntilEnd();
    },
    end,
    waitBriefly: async (call) => {
      if (!current) return;
      const { cause, waiting } = current;
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
    },
    close: () => {
      closed = true;
    },
  };
}
