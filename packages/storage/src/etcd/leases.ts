/**
 * Leases shared by many values. A value with a time to live needs a lease, and ten thousand events a second must not create
 * ten thousand leases. So values written within a short window share one, which lives longer by that window.
 */
import type { Random } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import type { EtcdCall } from './retrying-call.ts';
import { isLeaseMissing, isLeaseTaken } from './faults.ts';
import { grantLease } from './wire/lease.ts';

/** How much longer than requested a value may live. */
const windowFraction = 0.05;
const windowSecondsMax = 60;

/** etcd deletes all keys of an expired lease in one transaction; this bounds its size. */
const keysPerLeaseMax = 1_000;

/** An ID consists of two random numbers below this one, so that a double holds it exactly. */
const identifierHalf = 2 ** 26;

interface Lease {
  readonly id: number;
  readonly usableUntilMs: number;
  keys: number;
}

export class SharedLeases {
  readonly #client: EtcdClient;
  /** By the time to live in seconds. */
  readonly #current = new Map<number, Lease>();
  readonly #granting = new Map<number, Promise<void>>();

  constructor(client: EtcdClient) {
    this.#client = client;
    client.history.onReplaced(() => this.#current.clear());
  }

  /**
   * Writes one value with a lease, which must live at least this long; without one if that is undefined. A lease that was
   * lost with the data of a member is replaced. A second loss in a row has another cause.
   */
  use<T>(seconds: number | undefined, call: EtcdCall, write: (lease: number) => Promise<T>): Promise<T> {
    return seconds === undefined ? write(0) : this.#use(seconds, call, write);
  }

  async #use<T>(seconds: number, call: EtcdCall, write: (lease: number) => Promise<T>): Promise<T> {
    const lease = await this.acquire(seconds, call);
    try {
      return await write(lease);
    } catch (error) {
      if (!isLeaseMissing(error)) throw error;
      this.#forget(lease);
      return write(await this.acquire(seconds, call));
    }
  }

  /** Returns a lease for one value that must live at least this long from now. */
  async acquire(seconds: number, call: EtcdCall): Promise<number> {
    const sinceMs = call.sinceMs ?? this.#client.stallAwareClock.nowMs();
    for (;;) {
      const lease = this.#findUsable(seconds);
      if (lease) {
        lease.keys++;
        return lease.id;
      }
      const inFlight = this.#granting.get(seconds);
      // The caller that requests a grant fails in its own time; one that waits for it then requests its own.
      if (inFlight) await waitUntilSettled(this.#client, inFlight, call, sinceMs);
      else await this.#grant(seconds, { ...call, sinceMs });
    }
  }

  /** etcd has lost the lease. */
  #forget(id: number): void {
    for (const [seconds, lease] of this.#current) if (lease.id === id) this.#current.delete(seconds);
  }

  #findUsable(seconds: number): Lease | undefined {
    const lease = this.#current.get(seconds);
    const isUsable = lease && lease.keys < keysPerLeaseMax && this.#client.clock.monotonicMs() < lease.usableUntilMs;
    return isUsable ? lease : undefined;
  }

  #grant(seconds: number, call: EtcdCall): Promise<void> {
    const granted = grantNewLease(this.#client, seconds, call)
      .then((lease) => void this.#current.set(seconds, lease))
      .finally(() => this.#granting.delete(seconds));
    this.#granting.set(seconds, granted);
    return granted;
  }
}

async function grantNewLease(client: EtcdClient, seconds: number, call: EtcdCall): Promise<Lease> {
  const livesSeconds = Math.ceil(seconds + Math.min(windowSecondsMax, seconds * windowFraction));
  for (;;) {
    const id = newLeaseId(client.random);
    const requestedMs = client.clock.monotonicMs();
    try {
      await client.call(grantLease, { id, seconds: livesSeconds }, call);
      return { id, usableUntilMs: requestedMs + (livesSeconds - seconds) * 1000, keys: 0 };
    } catch (error) {
      if (!isLeaseTaken(error)) throw error;
    }
  }
}

/** How often a caller checks whether it may go on waiting, in election timeouts. */
const checkElections = 0.1;

/**
 * Waits until the promise has settled, but not past the call's deadline or retry budget: the call that requests the grant
 * may have begun later.
 */
async function waitUntilSettled(
  client: EtcdClient,
  shared: Promise<void>,
  { deadlineMs }: Call,
  sinceMs: number,
): Promise<void> {
  const { clock, stallAwareClock, electionTimeoutMs } = client;
  const settled = shared.then(
    () => true,
    () => true,
  );
  for (let isSettled = false; !isSettled; ) {
    const leftMs = Math.min(client.budgetLeftMs(sinceMs), deadlineMs - clock.monotonicMs());
    if (leftMs <= 0) throw new StorageUnavailableError('etcd granted no lease in time');
    const pauseMs = Math.min(leftMs, electionTimeoutMs * checkElections);
    let cancelPause = (): void => {};
    // A timer that a stall of this process has delayed says nothing about etcd.
    const paused = new Promise<boolean>(
      (resolve) => (cancelPause = stallAwareClock.after(pauseMs, () => resolve(false))),
    );
    isSettled = await Promise.race([settled, paused]);
    cancelPause();
  }
}

/** Random, so that replicas need no coordination. */
export const newLeaseId = (random: Random): number =>
  random.below(identifierHalf) * identifierHalf + random.below(identifierHalf) + 1;
