/**
 * Leases shared by many values. A value with a time to live needs a lease in etcd, and leases are dear: ten thousand
 * events a second must not make ten thousand of them. So values written within a short window share one, which lives
 * longer by that window: each value lives at least as long as it was asked to, and at most a window longer.
 */
import type { Clock } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { isLeaseTaken } from './faults.ts';
import { grantLease } from './wire/lease.ts';

export interface SharedLeases {
  /** A lease for one value that shall live at least this long from now. */
  leaseFor(seconds: number, call: Call): Promise<number>;
  /** etcd does not know the lease any more. */
  forget(lease: number): void;
}

/** How much longer a value may live than asked: unnoticed on an hour, and never more than a minute. */
const windowPart = 0.05;
const windowSecondsMax = 60;

/** etcd deletes all keys of a lease in one transaction when it ends; this bounds that moment. */
const keysPerLeaseMax = 1_000;

/** Identifiers are drawn from this many, twice: as many as a double holds exactly. */
const identifierHalf = 2 ** 26;

/** A grant serves many callers, so it has a deadline of its own and not that of the caller who came first. */
const grantTimeoutMs = 10_000;

interface Lease {
  readonly id: number;
  readonly usableUntilMs: number;
  keys: number;
}

export function sharedLeases(client: EtcdClient): SharedLeases {
  const { clock } = client;
  const current = new Map<number, Lease>();
  const granting = new Map<number, Promise<Lease>>();

  const usable = (seconds: number): Lease | undefined => {
    const lease = current.get(seconds);
    return lease && lease.keys < keysPerLeaseMax && clock.monotonicMs() < lease.usableUntilMs ? lease : undefined;
  };
  const grant = (seconds: number): Promise<Lease> => {
    const inFlight = granting.get(seconds);
    if (inFlight) return inFlight;
    const granted = newLease(client, seconds)
      .then((lease) => {
        current.set(seconds, lease);
        return lease;
      })
      .finally(() => granting.delete(seconds));
    granting.set(seconds, granted);
    return granted;
  };

  return {
    leaseFor: async (seconds, call) => {
      for (;;) {
        const lease = usable(seconds) ?? (await inTime(clock, grant(seconds), call));
        // Many may have waited for the same grant; those beyond its bound wait for the next.
        if (lease.keys >= keysPerLeaseMax) continue;
        lease.keys++;
        return lease.id;
      }
    },
    forget: (id) => {
      for (const [seconds, lease] of current) if (lease.id === id) current.delete(seconds);
    },
  };
}

async function newLease(client: EtcdClient, seconds: number): Promise<Lease> {
  const windowSeconds = Math.min(windowSecondsMax, seconds * windowPart);
  for (;;) {
    const id = randomLeaseId(client);
    const askedMs = client.clock.monotonicMs();
    try {
      const call = { deadlineMs: askedMs + grantTimeoutMs };
      await client.call(grantLease, { id, seconds: Math.ceil(seconds + windowSeconds) }, call);
      return { id, usableUntilMs: askedMs + windowSeconds * 1000, keys: 0 };
    } catch (error) {
      if (!isLeaseTaken(error)) throw error;
    }
  }
}

/** Waits for what others wait for too, but only as long as this caller may. */
function inTime<T>(clock: Clock, shared: Promise<T>, { deadlineMs }: Call): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(deadlineMs - clock.monotonicMs(), () =>
      reject(new StorageUnavailableError('etcd granted no lease in time')),
    );
    shared.then(resolve, reject).finally(cancel);
  });
}

const randomLeaseId = ({ random }: EtcdClient): number =>
  random.below(identifierHalf) * identifierHalf + random.below(identifierHalf) + 1;
