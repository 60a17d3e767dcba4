/**
 * Leases shared by many values. A value with a time to live needs a lease, and ten thousand events a second must not create
 * ten thousand leases. So values written within a short window share one, which lives longer by that window.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import type { EtcdCall } from './retrying-call.ts';
import { isLeaseTaken } from './faults.ts';
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

  /** Returns a lease for one value that must live at least this long from now. */
  async acquire(seconds: number, call: EtcdCall): Promise<number> {
    for (;;) {
      const lease = this.#findUsable(seconds);
      if (lease) {
        lease.keys++;
        return lease.id;
      }
      const inFlight = this.#granting.get(seconds);
      // The caller that requests a grant fails with its own deadline; one that waits for it then requests its own.
      if (inFlight) await waitUntilSettled(this.#client.clock, inFlight, call);
      else await this.#grant(seconds, call);
    }
  }

  /** etcd has lost the lease. */
  forget(id: number): void {
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

/** Waits until the promise has settled, but not past the call's deadline. */
async function waitUntilSettled(clock: Clock, shared: Promise<void>, { deadlineMs }: Call): Promise<void> {
  const waiting = new AbortController();
  const hasSettled = shared.then(
    () => true,
    () => true,
  );
  const hasTimedOut = sleep(clock, deadlineMs - clock.monotonicMs(), waiting.signal).then(() => false);
  const inTime = await Promise.race([hasSettled, hasTimedOut]);
  waiting.abort();
  if (!inTime) throw new StorageUnavailableError('etcd granted no lease in time');
}

/** Random, so that replicas need no coordination. */
export const newLeaseId = (random: Random): number =>
  random.below(identifierHalf) * identifierHalf + random.below(identifierHalf) + 1;
