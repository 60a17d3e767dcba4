/**
 * Leader election among replicas. The leader creates keys with a lease and renews the lease. A leader that cannot renew it
 * stops before it expires, so there are never two leaders, as long as the clocks run equally fast. A renewal is no write, so
 * a leader continues when etcd is out of space.
 *
 * Other clients may overwrite or delete a key. The leader checks the keys with each renewal, and stops if one has changed.
 * Candidates wait for that (docs/decisions/0058-leader-election.md).
 *
 * The lease is released only when the work has stopped. Until then a leader that resigns keeps renewing it, and one that
 * could not renew it lets it expire.
 */
import { type Call, callUntil, sleep } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import { newLeaseId } from './leases.ts';
import type { EtcdCall } from './retrying-call.ts';
import { LeaderKeys } from './leader-keys.ts';
import { stepDownFraction, Term, type TermOptions } from './term.ts';
import type { KeyValue } from './wire/key-value.ts';
import { grantLease, revokeLease } from './wire/lease.ts';

export interface ElectionOptions {
  readonly client: EtcdClient;
  /** The leader's key, outside the prefix of the objects. A second one has the same name with the suffix `-term`. */
  readonly key: string;
  /** The name of this replica, for operators who look at the key. */
  readonly identity: string;
  /** How long the others wait for a leader that has died; by default, derived from etcd's election timeout. */
  readonly timeToLiveSeconds?: number;
  /** Called when this replica acquires leadership. The signal aborts when it loses it; resolves when all work has stopped. */
  readonly lead?: (term: AbortSignal) => Promise<void> | void;
  /** Receives events that operators should see in the log. */
  readonly report?: (event: ElectionEvent) => void;
}

export type ElectionEvent =
  /** A key had a value without a lease, which would have blocked elections forever. It was removed. */
  { readonly type: 'key repaired'; readonly key: string; readonly value: string };

const timeToLiveMinSeconds = 15;

/** So that a renewal that begins when etcd loses its leader has 7 election timeouts until the leader must step down. */
const timeToLiveElectionsMin = 15;

/** A leader renews its lease, and the others check the key, this often per lease. */
const renewalsPerLease = 3;

/** How much of an orphaned value is reported. */
const shownCharactersMax = 100;

export class Election {
  readonly #options: ElectionOptions;
  readonly #client: EtcdClient;
  readonly #keys: LeaderKeys;
  readonly #leaseSeconds: number;
  readonly #leaseMs: number;
  readonly #renewIntervalMs: number;
  readonly #closing = new AbortController();
  readonly #openedMs: number;
  #leaderSeenMs: number | undefined;
  /** The revisions of the keys that have no lease, and since when they have been seen. */
  #orphans: { readonly revisions: string; readonly sinceMs: number } | undefined;
  /** While this replica leads. */
  #term: Term | undefined;
  readonly #running: Promise<void>;

  constructor(options: ElectionOptions) {
    const { client, key, timeToLiveSeconds = deriveTimeToLiveSeconds(client.electionTimeoutMs) } = options;
    this.#options = options;
    this.#client = client;
    this.#keys = new LeaderKeys(client, key);
    this.#leaseSeconds = timeToLiveSeconds;
    this.#leaseMs = timeToLiveSeconds * 1000;
    this.#renewIntervalMs = this.#leaseMs / renewalsPerLease;
    this.#openedMs = client.clock.monotonicMs();
    this.#running = this.#run();
  }

  /** By the clock, so that a stalled process does not lead longer than its lease. */
  get isLeading(): boolean {
    return this.#term?.isCurrent === true;
  }

  /** How long there has been no leader, as far as this replica has seen; 0 while there is one. */
  get vacantMs(): number {
    return this.#term ? 0 : this.#client.clock.monotonicMs() - (this.#leaderSeenMs ?? this.#openedMs);
  }

  /** Releases leadership as soon as the work has stopped, and no longer campaigns. */
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

  /** Creates the keys if none of them exists. */
  async #tryAcquire(): Promise<Term | undefined> {
    const client = this.#client;
    const historyNumber = client.history.number;
    const found = await this.#keys.read(this.#newCall());
    if (found.length > 0) {
      if (found.some(({ lease }) => lease !== 0)) this.#leaderSeenMs = client.clock.monotonicMs();
      await this.#removeOrphans(found);
      return undefined;
    }
    const lease = newLeaseId(client.random);
    const requestedMs = client.clock.monotonicMs();
    await client.call(grantLease, { id: lease, seconds: this.#leaseSeconds }, this.#newCall());
    let term: Term | undefined;
    try {
      // A replica that is about to stop leaves the keys to the others.
      if (this.#closing.signal.aborted) return undefined;
      const call: EtcdCall = { ...this.#newCall(), historyNumber };
      const revision = await this.#keys.create(this.#options.identity, lease, call);
      if (revision !== undefined) term = this.#createTerm({ lease, revision, requestedMs });
      return term;
    } finally {
      // An attempt without a response may have created the keys, which are deleted with their lease.
      if (!term) await this.#revoke(lease);
    }
  }

  #createTerm(acquired: Pick<TermOptions, 'lease' | 'revision' | 'requestedMs'>): Term {
    return new Term({
      ...acquired,
      client: this.#client,
      keys: this.#keys,
      leaseMs: this.#leaseMs,
      // Until the leader would step down.
      renewTimeoutMs: this.#leaseMs * stepDownFraction - this.#renewIntervalMs,
    });
  }

  /**
   * Leaders create keys with a lease. Without one a key would stay forever. If it was a leader's before, that leader has
   * stopped by the time that the key has been the same for the length of a lease.
   */
  async #removeOrphans(found: readonly KeyValue[]): Promise<void> {
    const nowMs = this.#client.clock.monotonicMs();
    const orphans = found.filter(({ lease }) => lease === 0);
    const revisions = orphans.map(({ modRevision }) => modRevision).join();
    if (this.#orphans?.revisions !== revisions) this.#orphans = { revisions, sinceMs: nowMs };
    const isLeaderPossible = orphans.length < found.length || nowMs - this.#orphans.sinceMs < this.#leaseMs;
    if (!isLeaderPossible) for (const orphan of orphans) await this.#removeOrphan(orphan);
  }

  async #removeOrphan(orphan: KeyValue): Promise<void> {
    if (!(await this.#keys.remove(orphan, this.#newCall()))) return;
    const value = orphan.value.toString().slice(0, shownCharactersMax);
    this.#options.report?.({ type: 'key repaired', key: orphan.key, value });
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

/** In proportion to etcd's election timeout, so that a leader keeps its term while etcd elects its own leader. */
const deriveTimeToLiveSeconds = (electionTimeoutMs: number): number =>
  Math.max(timeToLiveMinSeconds, Math.ceil((timeToLiveElectionsMin * electionTimeoutMs) / 1000));
