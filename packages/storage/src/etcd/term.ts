import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import { keepLeaseAlive } from './wire/lease.ts';

/** A leader steps down when this fraction of its lease has passed without renewal. The rest is for running work. */
const stepDownFraction = 0.8;

/** One term of leadership: a lease, its renewal, and stepping down before it expires. */
export class Term {
  readonly lease: number;
  readonly #client: EtcdClient;
  readonly #leaseMs: number;
  readonly #renewTimeoutMs: number;
  readonly #lost = new AbortController();
  /** When the lease was last renewed, counted from before the request. */
  #renewedMs: number;
  #isLeaseGone = false;
  #cancelStepDown = (): void => {};

  constructor(client: EtcdClient, lease: number, leaseMs: number, renewTimeoutMs: number) {
    this.#client = client;
    this.lease = lease;
    this.#leaseMs = leaseMs;
    this.#renewTimeoutMs = renewTimeoutMs;
    this.#renewedMs = client.clock.monotonicMs();
  }

  /** Aborts when leadership is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  get isCurrent(): boolean {
    return !this.signal.aborted && this.#client.clock.monotonicMs() < this.#stepDownMs;
  }

  /** Whether etcd has dropped the lease, so that renewing it is pointless. */
  get isLeaseGone(): boolean {
    return this.#isLeaseGone;
  }

  get #stepDownMs(): number {
    return this.#renewedMs + this.#leaseMs * stepDownFraction;
  }

  lose(reason: unknown): void {
    this.#cancelStepDown();
    this.#lost.abort(reason);
  }

  scheduleStepDown(): void {
    const { clock } = this.#client;
    this.#cancelStepDown();
    this.#cancelStepDown = clock.after(this.#stepDownMs - clock.monotonicMs(), () =>
      this.lose(new Error('the lease was not renewed')),
    );
  }

  async renew(): Promise<void> {
    const { clock } = this.#client;
    const requestedMs = clock.monotonicMs();
    try {
      const call = callUntil(requestedMs + this.#renewTimeoutMs);
      const seconds = await this.#client.call(keepLeaseAlive, this.lease, call);
      if (seconds === 0) {
        this.#isLeaseGone = true;
        this.lose(new Error('the lease is gone'));
      } else if (!this.signal.aborted) {
        this.#renewedMs = requestedMs;
        this.scheduleStepDown();
      }
    } catch {
      // The next renewal tries again. The step-down timer ends the term if that is too late.
    }
  }
}
