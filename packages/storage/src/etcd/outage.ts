/**
 * A cluster known to be without quorum. One probe goes on until it answers; calls in the meantime wait for it a moment
 * and then fail, instead of each finding out for itself at the price of its whole patience.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdEvent } from './client.ts';

export interface OutageTracker {
  readonly isActive: boolean;
  begin(cause: unknown): void;
  /** An answer came: whatever was thought of as an outage is over. */
  end(): void;
  /** Returns when the outage ends in time, else throws StorageUnavailableError. */
  waitBriefly(call: Call): Promise<void>;
  close(): void;
}

/** A call that arrives just before the end of an outage should succeed; one in its midst should fail soon. */
const briefWaitMs = 500;

/** The end of an outage is noticed within about this time. */
const probePauseMinMs = 50;
const probePauseMaxMs = 150;

export interface OutageOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: EtcdEvent) => void;
  /** Resolves when a quorum answers. */
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
    while (current && !closed) {
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
      if (!ended) throw new StorageUnavailableError('etcd is without quorum', { cause });
    },
    close: () => {
      closed = true;
    },
  };
}
