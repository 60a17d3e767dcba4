import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import type { LeaderKeys } from './leader-keys.ts';
import { keepLeaseAlive } from './wire/lease.ts';

/** A leader steps down when this fraction of its lease has passed without renewal. The rest is for running work. */
export const stepDownFraction = 0.8;

export interface TermOptions {
  readonly client: EtcdClient;
  readonly keys: LeaderKeys;
  /** The revision at which the keys were created. */
  readonly revision: number;
  readonly lease: number;
  readonly leaseMs: number;
  readonly renewTimeoutMs: number;
  /** When the lease was requested. */
  readonly requestedMs: number;
}

/** One term of leadership: a lease and the keys with it, their renewal, and stepping down before the lease expires. */
export class Term {
  readonly #options: TermOptions;
  readonly #lost = new AbortController();
  /** When lease and keys were last confirmed, counted from before the request. */
  #renewedMs: number;
  #isLeaseGone = false;
  #cancelStepDown = (): void => {};

  constructor(options: TermOptions) {
    this.#options = options;
    this.#renewedMs = options.requestedMs;
  }

  get lease(): number {
    return this.#options.lease;
  }

  /** Aborts when leadership is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  get isCurrent(): boolean {
    return !this.signal.aborted && this.#options.client.clock.monotonicMs() < this.#stepDownMs;
  }

  /** Whether etcd has dropped the lease, so that renewing it is pointless. */
  get isLeaseGone(): boolean {
    return this.#isLeaseGone;
  }

  get #stepDownMs(): number {
    return this.#renewedMs + this.#options.leaseMs * stepDownFraction;
  }

  lose(reason: unknown): void {
    this.#cancelStepDown();
    this.#lost.abort(reason);
  }

  scheduleStepDown(): void {
    const { clock } = this.#options.client;
    this.#cancelStepDown();
    this.#cancelStepDown = clock.after(this.#stepDownMs - clock.monotonicMs(), () =>
      this.lose(new Error('the lease was not renewed')),
    );
  }

  /**
   * Renews the lease and checks the keys. The term is extended only if both are confirmed: another candidate may lead once
   * a key has not been this leader's for the length of a lease.
   */
  async renew(): Promise<void> {
    const { client, keys, revision, lease, renewTimeoutMs } = this.#options;
    const requestedMs = client.clock.monotonicMs();
    const call = callUntil(requestedMs + renewTimeoutMs);
    try {
      const [seconds, areKeysUnchanged] = await Promise.all([
        client.call(keepLeaseAlive, lease, call),
        keys.areUnchanged(revision, call),
      ]);
      if (seconds === 0) {
        this.#isLeaseGone = true;
        this.lose(new Error('the lease is gone'));
      } else if (!areKeysUnchanged) {
        this.lose(new Error('another client overwrote or deleted a key of the leader'));
      } else if (!this.signal.aborted) {
        this.#renewedMs = requestedMs;
        this.scheduleStepDown();
      }
    } catch {
      // The next renewal tries again. The step-down timer ends the term if that is too late.
    }
  }
}
