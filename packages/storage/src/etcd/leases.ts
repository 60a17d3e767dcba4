/**
 * Leases shared by many values. A value with a time to live needs a lease in etcd, and leases are dear: ten thousand
 * events a second must not make ten thousand of them. So values written within a short window share one, which lives
 * longer by that window: each value lives at least as long as it was asked to, and at most a window longer.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdCall, EtcdClient } from './client.ts';
import { isLeaseTaken } from './faults.ts';
import { grantLease } from './wire/lease.ts';

export interface SharedLeases {
  /** A lease for one value that shall live at least this long from now. */
  acquire(seconds: number, call: EtcdCall): Promise<number>;
  /** etcd does not know the lease any more. */
  forget(lease: number): void;
}

/** How much longer a value may live than asked: unnoticed on an hour, and never more than a minute. */
const windowFraction = 0.05;
const windowSecondsMax = 60;

/** etcd deletes all keys of a lease in one transaction when it ends; this bounds that moment. */
const keysPerLeaseMax = 1_000;

/** Identifiers are drawn from this many, twice: as many as a double holds exactly. */
const identifierHalf = 2 ** 26;

interface Lease {
  readonly id: number;
  readonly usableUntilMs: number;
  keys: number;
}

export function sharedLeases(client: EtcdClient): SharedLeases {
  const { clock } = client;
  const current = new Map<number, Lease>();
  const granting = new Map<number, Promise<void>>();
  client.history.onReplaced(() => current.clear());

  const findUsable = (seconds: number): Lease | undefined => {
    const lease = current.get(seconds);
    return lease && lease.keys < keysPerLeaseMax && clock.monotonicMs() < lease.usableUntilMs ? lease : undefined;
  };
  const grant = (seconds: number, call: EtcdCall): Promise<void> => {
    const granted = grantNewLease(client, seconds, call)
      .then((lease) => void current.set(seconds, lease))
      .finally(() => granting.delete(seconds));
    granting.set(seconds, granted);
    return granted;
  };

  return {
    acquire: async (seconds, call) => {
      for (;;) {
        const lease = findUsable(seconds);
        if (lease) {
          lease.keys++;
          return lease.id;
        }
        const inFlight = granting.get(seconds);
        // Who asks, asks with its own patience and fails with it; who waits for another's grant then asks itself.
        if (inFlight) await waitUntilSettled(clock, inFlight, call);
        else await grant(seconds, call);
      }
    },
    forget: (id) => {
      for (const [seconds, lease] of current) if (lease.id === id) current.delete(seconds);
    },
  };
}

async function grantNewLease(client: EtcdClient, seconds: number, call: EtcdCall): Promise<Lease> {
  const livesSeconds = Math.ceil(seconds + Math.min(windowSecondsMax, seconds * windowFraction));
  for (;;) {
    const id = newLeaseId(client.random);
    const askedMs = client.clock.monotonicMs();
    try {
      await client.call(grantLease, { id, seconds: livesSeconds }, call);
      return { id, usableUntilMs: askedMs + (livesSeconds - seconds) * 1000, keys: 0 };
    } catch (error) {
      if (!isLeaseTaken(error)) throw error;
    }
  }
}

/** Waits until something has ended, well or not, but not past the call's deadline. */
async function waitUntilSettled(clock: Clock, shared: Promise<void>, { deadlineMs }: Call): Promise<void> {
  const waiting = new AbortController();
  const ended = shared.then(
    () => true,
    () => true,
  );
  const over = sleep(clock, deadlineMs - clock.monotonicMs(), waiting.signal).then(() => false);
  const inTime = await Promise.race([ended, over]);
  waiting.abort();
  if (!inTime) throw new StorageUnavailableError('etcd granted no lease in time');
}

/** Random, so that replicas need not agree on them. */
export const newLeaseId = (random: Random): number =>
  random.below(identifierHalf) * identifierHalf + random.below(identifierHalf) + 1;
