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
import { Term } from './term.ts';
import { grantLease, revokeLease } from './wire/lease.ts';

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

/** How much of an orphaned value is reported. */
const shownCharactersMax = 100;

export const campaign = (options: ElectionOptions): Election => new Campaign(options);

class Campaign implements Election {
  readonly #options: ElectionOptions;
  readonly #client: EtcdClient;
  readonly #leaseSeconds: number;
  readonly #renewIntervalMs: number;
  readonly #closing = new AbortController();
  readonly #openedMs: number;
  #leaderSeenMs: number | undefined;
  /** While this replica leads. */
  #term: Term | undefined;
  readonly #running: Promise<void>;

  constructor(options: ElectionOptions) {
    const { client, timeToLiveSeconds = defaultTimeToLiveSeconds } = options;
    this.#options = options;
    this.#client = client;
    this.#leaseSeconds = timeToLiveSeconds;
    this.#renewIntervalMs = (timeToLiveSeconds * 1000) / renewalsPerLease;
    this.#openedMs = client.clock.monotonicMs();
    this.#running = this.#run();
  }

  get isLeading(): boolean {
    return this.#term?.isCurrent === true;
  }

  get vacantMs(): number {
    return this.#term ? 0 : this.#client.clock.monotonicMs() - (this.#leaderSeenMs ?? this.#openedMs);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the election is closed'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const term = await this.#tryAcquire();
        if (term) await this.#lead(term);
      } catch {
        // Without etcd there is no election; the next round tries again.
      }
      await this.#pauseUnless(signal);
    }
  }

  /** Acquires the key if it does not exist. */
  async #tryAcquire(): Promise<Term | undefined> {
    const { key, identity } = this.#options;
    const client = this.#client;
    const historyNumber = client.history.number;
    const [holder] = (await client.call(range, { key }, this.#newCall())).values;
    if (holder) {
      if (holder.lease === 0) await this.#removeOrphanedKey(holder);
      else this.#leaderSeenMs = client.clock.monotonicMs();
      return undefined;
    }
    const lease = newLeaseId(client.random);
    const term = new Term(client, lease, this.#leaseSeconds * 1000, this.#renewIntervalMs);
    await client.call(grantLease, { id: lease, seconds: this.#leaseSeconds }, this.#newCall());
    let won = false;
    try {
      // A replica that is about to stop leaves the key to the others.
      if (this.#closing.signal.aborted) return undefined;
      const value = [Buffer.from(identity)];
      const call: EtcdCall = { ...this.#newCall(), historyNumber };
      won = (await client.call(conditionalWrite, { key, expected: 0, value, lease }, call)).applied;
      return won ? term : undefined;
    } finally {
      // An attempt without a response may have written the key, which is deleted with its lease.
      if (!won) await this.#revoke(lease);
    }
  }

  /** Leaders write the key with a lease. Without one it would stay forever. */
  async #removeOrphanedKey({ modRevision, value }: KeyValue): Promise<void> {
    const { key, report } = this.#options;
    const removal = { key, expected: modRevision, value: undefined, lease: 0 };
    const { applied } = await this.#client.call(conditionalWrite, removal, this.#newCall());
    if (applied) report?.({ type: 'key repaired', key, value: value.toString().slice(0, shownCharactersMax) });
  }

  /** Resolves when the work has stopped and the lease is released. */
  async #lead(term: Term): Promise<void> {
    this.#term = term;
    const closing = this.#closing.signal;
    const handleClose = (): void => term.lose(closing.reason);
    closing.addEventListener('abort', handleClose, { once: true });
    const stopListening = this.#client.history.onReplaced(() =>
      term.lose(new Error('the lease was of another history')),
    );
    // The election may have been closed while the key was being acquired.
    if (closing.aborted) handleClose();
    const stopped = new AbortController();
    if (term.signal.aborted) stopped.abort();
    else {
      term.scheduleStepDown();
      void this.#runWork(term.signal).finally(() => stopped.abort());
    }
    await this.#renewUntil(term.signal, term);
    stopListening();
    closing.removeEventListener('abort', handleClose);
    // The next leader must not begin before the work has stopped, so a leader that resigns keeps its lease until then.
    const keepsLease = closing.aborted && !term.isLeaseGone;
    await this.#renewUntil(stopped.signal, keepsLease ? term : undefined);
    this.#term = undefined;
    this.#leaderSeenMs = this.#client.clock.monotonicMs();
    await this.#revoke(term.lease);
  }

  /** Errors are reported by the work itself. */
  async #runWork(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.lead?.(signal);
    } catch {}
  }

  /** Waits for the signal; without a term it renews nothing meanwhile. */
  async #renewUntil(signal: AbortSignal, term: Term | undefined): Promise<void> {
    while (!signal.aborted) {
      await this.#pauseUnless(signal);
      if (!signal.aborted) await term?.renew();
    }
  }

  async #revoke(lease: number): Promise<void> {
    await this.#client.call(revokeLease, lease, this.#newCall()).catch(() => {}); // the lease expires by itself
  }

  /** Until the next renewal or round; the signal ends it early. */
  async #pauseUnless(signal: AbortSignal): Promise<void> {
    await sleep(this.#client.clock, this.#renewIntervalMs, signal).catch(() => {});
  }

  #newCall(): Call {
    return callUntil(this.#client.clock.monotonicMs() + this.#renewIntervalMs);
  }
}
