/** The unreadable entries of the cache. Only these are decrypted again when that may succeed. */
import { type Clock, loopOf, type Loop } from '@cluster-apiserver/base';
import type { Entry, UnreadableEntry } from '../store.ts';

/** Bounded, because the KMS plugin also serves other requests. */
const concurrentRetries = 32;

export class UnreadableEntries {
  readonly #byKey = new Map<string, UnreadableEntry>();
  /** Entries, also replaced ones, whose decryption continues. */
  readonly #pending = new Set<UnreadableEntry>();
  readonly #onResolved: (entry: Entry) => void;
  /** Thousands of entries may become readable together, and each takes time to apply. */
  readonly #turns: Loop;
  /** Entries that were postponed until these resolve. */
  readonly #postponed = new Map<Promise<void>, Set<UnreadableEntry>>();
  /** Entries that will be retried. */
  readonly #queue = new Set<UnreadableEntry>();
  #retrying = 0;
  /** How often all entries were forgotten. */
  #clearings = 0;

  /**
   * Calls back when an entry has become readable, has been refused for good, or is refused only at present after all. Also
   * calls back when the decryption of an entry that was replaced meanwhile has ended, whatever the result, or when its retry
   * has made it readable.
   */
  constructor(onResolved: (entry: Entry) => void, clock: Clock) {
    this.#onResolved = onResolved;
    this.#turns = loopOf(clock);
  }

  /** The present entry of a key; undefined if it was deleted. */
  set(key: string, entry: Entry | undefined): void {
    if (!entry?.unreadable) {
      if (this.#byKey.size > 0) this.#byKey.delete(key);
      return;
    }
    this.#byKey.set(key, entry);
    if (entry.postponed) this.#postpone(new Set([entry]), entry.postponed);
    if (entry.pending) void this.#awaitPending(entry, entry.pending);
  }

  /** Forgets all entries, and the results of decryptions that continue. */
  clear(): void {
    this.#clearings++;
    this.#byKey.clear();
    this.#pending.clear();
    this.#postponed.clear();
    this.#queue.clear();
  }

  async #awaitPending(entry: UnreadableEntry, pending: Promise<Entry>): Promise<void> {
    this.#pending.add(entry);
    const read = await pending;
    // A retry may have been faster, and its result is the newer one.
    if (!this.#pending.delete(entry)) return;
    if (this.#byKey.get(entry.key) === entry) this.#resolve(entry, read);
    else this.#onResolved(read);
  }

  /** Adds entries to those that will be retried when this resolves. */
  #postpone(entries: Set<UnreadableEntry>, until: Promise<void>): void {
    const others = this.#postponed.get(until);
    if (!others) void this.#retryAfter(until);
    // There may be very many of either.
    const [some, more] = others && others.size > entries.size ? [entries, others] : [others ?? [], entries];
    for (const entry of some) more.add(entry);
    this.#postponed.set(until, more);
  }

  /**
   * Retries the entries that were postponed together, in batches. If a whole batch is postponed again, so are the others
   * without a retry: a plugin that hangs soon has too many values waiting again.
   */
  async #retryAfter(until: Promise<void>): Promise<void> {
    await until;
    const entries = this.#postponed.get(until);
    this.#postponed.delete(until);
    if (!entries) return; // a reload has forgotten them
    for (let batch = this.#takeBatch(entries); batch.length > 0; batch = this.#takeBatch(entries)) {
      const results = await Promise.all(batch.map((entry) => this.#retry(entry)));
      const again = results.map((read) => read.unreadable && read.postponed);
      if (again[0] && again.every(Boolean)) return this.#postpone(entries, again[0]);
    }
  }

  /** Removes the first entries that were not replaced. */
  #takeBatch(entries: Set<UnreadableEntry>): UnreadableEntry[] {
    const batch: UnreadableEntry[] = [];
    for (const entry of entries) {
      entries.delete(entry);
      if (this.#byKey.get(entry.key) === entry) batch.push(entry);
      if (batch.length === concurrentRetries) break;
    }
    return batch;
  }

  /** Returns at once. An entry that is being retried now is retried once more. */
  retry(): void {
    for (const entry of this.#byKey.values()) this.#queue.add(entry);
    const missing = Math.min(concurrentRetries - this.#retrying, this.#queue.size);
    for (let n = 0; n < missing; n++) void this.#retryQueued();
  }

  async #retryQueued(): Promise<void> {
    this.#retrying++;
    for (const entry of this.#queue) {
      this.#queue.delete(entry);
      await this.#retry(entry);
    }
    this.#retrying--;
  }

  async #retry(entry: UnreadableEntry): Promise<Entry> {
    const clearings = this.#clearings;
    const read = await entry.retry();
    if (this.#clearings > clearings) return read;
    const { postponed, pending } = read.unreadable ? read : {};
    if (postponed) this.#postpone(new Set([entry]), postponed);
    // The plugin of this entry hangs, but that of the next one may not.
    if (pending) void pending.then((late) => this.#clearings === clearings && this.#resolve(entry, late));
    else await this.#turns.runOrSchedule(() => this.#resolve(entry, read));
    return read;
  }

  #resolve(was: UnreadableEntry, is: Entry): void {
    if (this.#byKey.get(was.key) !== was) {
      // Watches still need the version that was replaced meanwhile.
      if (!is.unreadable) this.#onResolved(is);
      return;
    }
    if (is.unreadable?.isPermanent === was.unreadable.isPermanent) return;
    this.#pending.delete(was);
    this.set(was.key, is);
    this.#onResolved(is);
  }
}
