/**
 * One of several replicas leads. Leading is holding a key that lives on a lease: who creates it leads, for as long as
 * the lease is renewed. A leader that cannot renew stops before the lease can end, so two never lead at the same time,
 * as long as their clocks run equally fast. Renewal is no write, so a leader stays one even when etcd takes no more data.
 *
 * The lease is given back only when the work has stopped. Until then a leader that resigns goes on renewing it, and one
 * that could not renew it lets it run out.
 */
import { type Call, callUntil, sleep } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import { newLeaseId } from './leases.ts';
import type { EtcdCall } from './retrying-call.ts';
import { conditionalWrite, type KeyValue, range } from './wire/key-value.ts';
import { grantLease, keepLeaseAlive, revokeLease } from './wire/lease.ts';

export interface ElectionOptions {
  readonly client: EtcdClient;
  /** Outside the prefix of the objects. */
  readonly key: string;
  /** Who we are, for people who look at the key. */
  readonly identity: string;
  /** How long the others wait for a leader that vanished. */
  readonly timeToLiveSeconds?: number;
  /** Called each time we begin to lead. The signal aborts when we no longer do; resolves when all work has stopped. */
  readonly lead?: (term: AbortSignal) => Promise<void> | void;
  /** Told of what an operator wants to know. */
  readonly report?: (event: ElectionEvent) => void;
}

export type ElectionEvent =
  /** The key had a value that lived on no lease, so nobody could ever have led. It was removed. */
  { readonly type: 'key repaired'; readonly key: string; readonly value: string };

export interface Election {
  /** Decided by the clock: a process that stood still does not lead a moment longer than its lease. */
  readonly isLeading: boolean;
  /** How long nobody has led, as far as we saw; 0 while somebody does. */
  readonly vacantMs: number;
  /** Gives up the lead as soon as the work has stopped, so that another can take it, and campaigns no longer. */
  close(): Promise<void>;
}

const defaultTimeToLiveSeconds = 15;

/** A lease is renewed, and a foreign key looked at, three times in its life. */
const renewalsPerLease = 3;

/** A leader stops when this much of its lease has passed without renewal: the rest is for what it has under way. */
const stepDownFraction = 0.8;

/** What is told of a value that should not be there. */
const shownCharactersMax = 100;

interface Term {
  readonly lease: number;
  readonly lost: AbortController;
  /** When the lease was renewed last; it counts from before the question. */
  renewedMs: number;
}

export function campaign(options: ElectionOptions): Election {
  const { client, key, timeToLiveSeconds = defaultTimeToLiveSeconds, report = () => {} } = options;
  const { clock, history } = client;
  const leaseMs = timeToLiveSeconds * 1000;
  const renewIntervalMs = leaseMs / renewalsPerLease;
  const closing = new AbortController();
  const openedMs = clock.monotonicMs();
  let leaderSeenMs: number | undefined;
  let term: Term | undefined;

  const callOf = (timeoutMs: number): Call => callUntil(clock.monotonicMs() + timeoutMs);
  const isCurrent = ({ lost, renewedMs }: Term): boolean =>
    !lost.signal.aborted && clock.monotonicMs() < renewedMs + leaseMs * stepDownFraction;

  /** Takes the key if it is free. */
  const tryAcquire = async (): Promise<Term | undefined> => {
    const inHistory = history.number;
    const [holder] = (await client.call(range, { key }, callOf(renewIntervalMs))).values;
    if (holder) {
      if (holder.lease === 0) await removeOrphanedKey(holder);
      else leaderSeenMs = clock.monotonicMs();
      return undefined;
    }
    const lease = newLeaseId(client.random);
    const lost = new AbortController();
    const taken = { lease, lost, renewedMs: clock.monotonicMs() };
    await client.call(grantLease, { id: lease, seconds: timeToLiveSeconds }, callOf(renewIntervalMs));
    let won = false;
    try {
      // A replica that is about to stop leaves the key to the others.
      if (closing.signal.aborted) return undefined;
      const value = [Buffer.from(options.identity)];
      const call: EtcdCall = { ...callOf(renewIntervalMs), historyNumber: inHistory };
      won = (await client.call(conditionalWrite, { key, expected: 0, value, lease }, call)).applied;
      return won ? taken : undefined;
    } finally {
      // An attempt whose answer was lost may have taken the key: then it goes with the lease, for a new try.
      if (!won) await revoke(lease);
    }
  };
  /** Leaders write the key on a lease, so nobody holds it: it would stay for ever. */
  const removeOrphanedKey = async ({ modRevision, value }: KeyValue): Promise<void> => {
    const removal = { key, expected: modRevision, value: undefined, lease: 0 };
    const { applied } = await client.call(conditionalWrite, removal, callOf(renewIntervalMs));
    if (applied) report({ type: 'key repaired', key, value: value.toString().slice(0, shownCharactersMax) });
  };
  const revoke = async (lease: number): Promise<void> => {
    // A lease that cannot be revoked now ends by itself.
    await client.call(revokeLease, lease, callOf(renewIntervalMs)).catch(() => {});
  };
  const leadUntilLost = async (mine: Term): Promise<void> => {
    const { lease, lost } = mine;
    term = mine;
    let cancelStepDown = (): void => {};
    const stepDownInTime = (): void => {
      cancelStepDown();
      const endMs = mine.renewedMs + leaseMs * stepDownFraction;
      cancelStepDown = clock.after(endMs - clock.monotonicMs(), () =>
        lost.abort(new Error('the lease was not renewed')),
      );
    };
    const closed = (): void => lost.abort(closing.signal.reason);
    closing.signal.addEventListener('abort', closed, { once: true });
    const stopListening = history.onReplaced(() => lost.abort(new Error('the lease was of another history')));
    let leaseGone = false;
    const renew = async (): Promise<void> => {
      const askedMs = clock.monotonicMs();
      try {
        const seconds = await client.call(keepLeaseAlive, lease, callOf(renewIntervalMs));
        if (seconds === 0) {
          leaseGone = true;
          lost.abort(new Error('the lease is gone'));
        } else if (!lost.signal.aborted) {
          mine.renewedMs = askedMs;
          stepDownInTime();
        }
      } catch {
        // Asked again at the next turn; the timer above steps down when that comes too late.
      }
    };
    // The election may have been closed while the key was being taken.
    if (closing.signal.aborted) closed();
    let working = false;
    const stopped = new AbortController();
    if (!lost.signal.aborted) {
      stepDownInTime();
      working = true;
      const work = async (): Promise<void> => options.lead?.(lost.signal);
      void work()
        .catch(() => {}) // what went wrong is told by whoever works
        .finally(() => {
          working = false;
          stopped.abort();
        });
    }
    while (!lost.signal.aborted) {
      await sleep(clock, renewIntervalMs, lost.signal).catch(() => {});
      if (!lost.signal.aborted) await renew();
    }
    cancelStepDown();
    stopListening();
    closing.signal.removeEventListener('abort', closed);
    // Nobody else may begin while something is still being done here: the lease is kept for as long as it can be.
    const keeps = closing.signal.aborted && !leaseGone;
    while (working) {
      await sleep(clock, renewIntervalMs, stopped.signal).catch(() => {});
      if (working && keeps) await renew();
    }
    term = undefined;
    leaderSeenMs = clock.monotonicMs();
    await revoke(lease);
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        const taken = await tryAcquire();
        if (taken) await leadUntilLost(taken);
      } catch {
        // Without etcd nobody can be elected; the next turn tries again.
      }
      await sleep(clock, renewIntervalMs, closing.signal).catch(() => {});
    }
  })();

  return {
    get isLeading() {
      return term !== undefined && isCurrent(term);
    },
    get vacantMs() {
      return term ? 0 : clock.monotonicMs() - (leaderSeenMs ?? openedMs);
    },
    close: async () => {
      closing.abort(new Error('the election is closed'));
      await running;
    },
  };
}
