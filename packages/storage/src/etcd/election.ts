/**
 * One of several replicas leads. Leading is holding a key that lives on a lease: who creates it leads, for as long as
 * the lease is renewed. A leader that cannot renew stops before the lease can end, so two never lead at the same time,
 * as long as their clocks run equally fast. Renewal is no write, so a leader stays one even when etcd takes no more data.
 */
import { type Call, callUntil, sleep } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import { newLeaseId } from './leases.ts';
import { conditionalWrite, range } from './wire/key-value.ts';
import { grantLease, keepLeaseAlive, revokeLease } from './wire/lease.ts';

export interface ElectionOptions {
  readonly client: EtcdClient;
  /** Outside the prefix of the objects. */
  readonly key: string;
  /** Who we are, for people who look at the key. */
  readonly identity: string;
  /** How long the others wait for a leader that vanished. */
  readonly timeToLiveSeconds?: number;
  /** Called each time we begin to lead. The signal aborts when we no longer do. */
  readonly lead?: (term: AbortSignal) => void;
}

export interface Election {
  readonly leading: boolean;
  /** How long nobody has led, as far as we saw; 0 while somebody does. */
  readonly vacantMs: number;
  /** Gives up the lead at once, so that another can take it, and campaigns no longer. */
  close(): Promise<void>;
}

const defaultTimeToLiveSeconds = 15;

/** A lease is renewed, and a foreign key looked at, three times in its life. */
const turnsPerLife = 3;

/** A leader stops when this much of its lease has passed without renewal: the rest is for what it has under way. */
const stepDownPart = 0.8;

export function campaign(options: ElectionOptions): Election {
  const { client, key, timeToLiveSeconds = defaultTimeToLiveSeconds } = options;
  const { clock } = client;
  const turnMs = (timeToLiveSeconds * 1000) / turnsPerLife;
  const closing = new AbortController();
  const openedMs = clock.monotonicMs();
  let leaderSeenMs: number | undefined;
  let term: AbortController | undefined;

  const callOf = (timeoutMs: number): Call => callUntil(clock.monotonicMs() + timeoutMs);
  const pause = (): Promise<void> => sleep(clock, turnMs, closing.signal).catch(() => {});

  /** Takes the key if it is free. Answers the lease it hangs on, and since when that runs. */
  const take = async (): Promise<{ lease: number; renewedMs: number } | undefined> => {
    const { answer } = await client.call(range, { key }, callOf(turnMs));
    if (answer.values.length > 0) {
      leaderSeenMs = clock.monotonicMs();
      return undefined;
    }
    const lease = newLeaseId(client.random);
    const renewedMs = clock.monotonicMs();
    await client.call(grantLease, { id: lease, seconds: timeToLiveSeconds }, callOf(turnMs));
    let won = false;
    try {
      const value = [Buffer.from(options.identity)];
      const { answer } = await client.call(conditionalWrite, { key, expected: 0, value, lease }, callOf(turnMs));
      won = answer.applied;
      return won ? { lease, renewedMs } : undefined;
    } finally {
      // An attempt whose answer was lost may have taken the key: then it goes with the lease, for a new try.
      if (!won) await revoke(lease);
    }
  };
  const revoke = async (lease: number): Promise<void> => {
    // A lease that cannot be revoked now ends by itself.
    await client.call(revokeLease, lease, callOf(turnMs)).catch(() => {});
  };
  const leadUntilLost = async (lease: number, takenMs: number): Promise<void> => {
    let renewedMs = takenMs;
    const lost = new AbortController();
    term = lost;
    let cancelStepDown = (): void => {};
    const stepDownInTime = (): void => {
      cancelStepDown();
      const endMs = renewedMs + timeToLiveSeconds * 1000 * stepDownPart;
      cancelStepDown = clock.after(endMs - clock.monotonicMs(), () =>
        lost.abort(new Error('the lease was not renewed')),
      );
    };
    const closed = (): void => lost.abort(closing.signal.reason);
    closing.signal.addEventListener('abort', closed, { once: true });
    // The election may have been closed while the key was being taken.
    if (closing.signal.aborted) closed();
    else {
      stepDownInTime();
      options.lead?.(lost.signal);
    }
    while (!lost.signal.aborted) {
      await sleep(clock, turnMs, lost.signal).catch(() => {});
      if (lost.signal.aborted) break;
      const askedMs = clock.monotonicMs();
      try {
        const { answer: seconds } = await client.call(keepLeaseAlive, lease, callOf(turnMs));
        if (seconds === 0) lost.abort(new Error('the lease is gone'));
        else if (!lost.signal.aborted) {
          renewedMs = askedMs;
          stepDownInTime();
        }
      } catch {
        // Asked again at the next turn; the timer above steps down when that comes too late.
      }
    }
    cancelStepDown();
    closing.signal.removeEventListener('abort', closed);
    term = undefined;
    leaderSeenMs = clock.monotonicMs();
    await revoke(lease);
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        const taken = await take();
        if (taken) await leadUntilLost(taken.lease, taken.renewedMs);
      } catch {
        // Without etcd nobody can be elected; the next turn tries again.
      }
      await pause();
    }
  })();

  return {
    get leading() {
      return term !== undefined && !term.signal.aborted;
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
