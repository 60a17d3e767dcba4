/**
 * Leader election among replicas. The leader creates a key with a lease and renews the lease. A leader that cannot renew it
 * stops before it expires, so there are never two leaders, as long as the clocks run equally fast. A renewal is no write, so
 * a leader continues when etcd is out of space.
 *
 * The lease is released only when the work has stopped. Until then a leader that resigns keeps renewing it, and one that
 * could not renew it lets it expire.
 */
import { type Call, callUntil, sleep } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import { newLeaseId } from './leases.ts';
import type { EtcdCall } from './retrying-call.ts';
import { conditionalWrite, type KeyValue, range } from './wire/key-value.ts';
import { grantLease, keepLeaseAlive, revokeLease } from './wire/lease.ts';

export interface ElectionOptions {
  readonly client: EtcdClient;
  /** The leader's key, outside the prefix of the objects. */
  readonly key: string;
  /** The name of this replica, for operators who look at the key. */
  readonly identity: string;
  /** How long the others wait for a leader that has died. */
  readonly timeToLiveSeconds?: number;
  /** Called when this replica acquires leadership. The signal aborts when it loses it; resolves when all work has stopped. */
  readonly lead?: (term: AbortSignal) => Promise<void> | void;
  /** Receives events that operators should see in the log. */
  readonly report?: (event: ElectionEvent) => void;
}

export type ElectionEvent =
  /** The key had a value without a lease, which would have blocked elections forever. It was removed. */
  { readonly type: 'key repaired'; readonly key: string; readonly value: string };

export interface Election {
  /** By the clock, so that a stalled process does not lead longer than its lease. */
  readonly isLeading: boolean;
  /** How long there has been no leader, as far as this replica has seen; 0 while there is one. */
  readonly vacantMs: number;
  /** Releases leadership as soon as the work has stopped, and no longer campaigns. */
  close(): Promise<void>;
}

const defaultTimeToLiveSeconds = 15;

/** A leader renews its lease, and the others check the key, this often per lease. */
const renewalsPerLease = 3;

/** A leader steps down when this fraction of its lease has passed without renewal. The rest is for running work. */
const stepDownFraction = 0.8;

/** How much of an orphaned value is reported. */
const shownCharactersMax = 100;

/** One term of leadership: a lease, its renewal, and stepping down before it expires. */
class Term {
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

export function campaign(options: ElectionOptions): Election {
  const { client, key, timeToLiveSeconds = defaultTimeToLiveSeconds, report = () => {} } = options;
  const { clock, history } = client;
  const leaseMs = timeToLiveSeconds * 1000;
  const renewIntervalMs = leaseMs / renewalsPerLease;
  const closing = new AbortController();
  const openedMs = clock.monotonicMs();
  let leaderSeenMs: number | undefined;
  let term: Term | undefined;

  const newCall = (): Call => callUntil(clock.monotonicMs() + renewIntervalMs);

  /** Acquires the key if it does not exist. */
  const tryAcquire = async (): Promise<Term | undefined> => {
    const historyNumber = history.number;
    const [holder] = (await client.call(range, { key }, newCall())).values;
    if (holder) {
      if (holder.lease === 0) await removeOrphanedKey(holder);
      else leaderSeenMs = clock.monotonicMs();
      return undefined;
    }
    const lease = newLeaseId(client.random);
    const acquired = new Term(client, lease, leaseMs, renewIntervalMs);
    await client.call(grantLease, { id: lease, seconds: timeToLiveSeconds }, newCall());
    let won = false;
    try {
      // A replica that is about to stop leaves the key to the others.
      if (closing.signal.aborted) return undefined;
      const value = [Buffer.from(options.identity)];
      const call: EtcdCall = { ...newCall(), historyNumber };
      won = (await client.call(conditionalWrite, { key, expected: 0, value, lease }, call)).applied;
      return won ? acquired : undefined;
    } finally {
      // An attempt without a response may have written the key, which is deleted with its lease.
      if (!won) await revoke(lease);
    }
  };
  /** Leaders write the key with a lease. Without one it would stay forever. */
  const removeOrphanedKey = async ({ modRevision, value }: KeyValue): Promise<void> => {
    const removal = { key, expected: modRevision, value: undefined, lease: 0 };
    const { applied } = await client.call(conditionalWrite, removal, newCall());
    if (applied) report({ type: 'key repaired', key, value: value.toString().slice(0, shownCharactersMax) });
  };
  const revoke = async (lease: number): Promise<void> => {
    await client.call(revokeLease, lease, newCall()).catch(() => {}); // the lease expires by itself
  };

  const leadUntilLost = async (acquired: Term): Promise<void> => {
    term = acquired;
    const { signal } = acquired;
    const handleClose = (): void => acquired.lose(closing.signal.reason);
    closing.signal.addEventListener('abort', handleClose, { once: true });
    const stopListening = history.onReplaced(() => acquired.lose(new Error('the lease was of another history')));
    // The election may have been closed while the key was being acquired.
    if (closing.signal.aborted) handleClose();
    const stopped = new AbortController();
    if (signal.aborted) stopped.abort();
    else {
      acquired.scheduleStepDown();
      void runWork(signal).finally(() => stopped.abort());
    }
    while (!signal.aborted) {
      await sleep(clock, renewIntervalMs, signal).catch(() => {});
      if (!signal.aborted) await acquired.renew();
    }
    stopListening();
    closing.signal.removeEventListener('abort', handleClose);
    // The next leader must not begin before the work has stopped, so a leader that resigns keeps its lease until then.
    const keepsLease = closing.signal.aborted && !acquired.isLeaseGone;
    while (!stopped.signal.aborted) {
      await sleep(clock, renewIntervalMs, stopped.signal).catch(() => {});
      if (!stopped.signal.aborted && keepsLease) await acquired.renew();
    }
    term = undefined;
    leaderSeenMs = clock.monotonicMs();
    await revoke(acquired.lease);
  };
  /** Errors are reported by the work itself. */
  const runWork = async (signal: AbortSignal): Promise<void> => {
    try {
      await options.lead?.(signal);
    } catch {}
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        const acquired = await tryAcquire();
        if (acquired) await leadUntilLost(acquired);
      } catch {
        // Without etcd there is no election; the next round tries again.
      }
      await sleep(clock, renewIntervalMs, closing.signal).catch(() => {});
    }
  })();

  return {
    get isLeading() {
      return term?.isCurrent === true;
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
