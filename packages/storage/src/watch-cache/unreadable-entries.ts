/** The unreadable entries of the cache. Only these are decrypted again when that may succeed. */
import { type Clock, schedulerOf, type TaskScheduler } from '@cluster-apiserver/base';
import type { Entry, UnreadableEntry } from '../store.ts';

/** Bounded, because the KMS plugin also serves other requests. */
const concurrentRetries = 32;

export class UnreadableEntries {
  readonly #byKey = new Map<string, UnreadableEntry>();
  /** Entries, also replaced ones, whose decryption continues. */
  readonly #pending = new Set<UnreadableEntry>();
  readonly #onResolved: (entry: Entry) => void;
  /** Thousands of entries may become readable together, and each takes time to decrypt and to apply. */
  readonly #turns: TaskScheduler;
  /** Entries that were postponed until these resolve. */
  readonly #postponed = new Map<Promise<void>, Set<UnreadableEntry>>();
  /** Entries that will be retried. */
  readonly #queue = new Set<UnreadableEntry>();
  #retrying = 0;

  /**
   * Calls back when an entry has become readable, has been refused for good, or is refused only at present after all. Also
   * calls back when the decryption of an entry that was replaced meanwhile has ended, whatever the result.
   */
  constructor(onResolved: (entry: Entry) => void, clock: Clock) {
    this.#onResolved = onResolved;
    this.#turns = schedulerOf(clock);
  }

  /** The present entry of a key; undefined if it was deleted. */
  set(key: string, entry: Entry | undefined): void {
    if (!entry?.unreadable) {
      if (this.#byKey.size > 0) this.#byKey.delete(key);
      return;
    }
    this.#byKey.set(key, entry);
    if (entry.postponed) void this.#retryAfter(entry.postponed, entry);
    if (entry.pending) void this.#awaitPending(entry, entry.pending);
  }

  /** Forgets all entries, and the results of decryptions that continue. */
  clear(): void {
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

  /** Retries an entry with all others that were postponed together. */
  async #retryAfter(postponed: Promise<void>, entry: UnreadableEntry): Promise<void> {
    const others = this.#postponed.get(postponed);
    if (others) return void others.add(entry);
    const entries = new Set([entry]);
    this.#postponed.set(postponed, entries);
    await postponed;
    // A reload may have forgotten them.
    if (this.#postponed.get(postponed) !== entries) return;
    this.#postponed.delete(postponed);
    this.#retryAll(entries);
  }

  /** Returns at once. An entry that is being retried now is retried once more. */
  retry(): void {
    this.#retryAll(this.#byKey.values());
  }

  #retryAll(entries: Iterable<UnreadableEntry>): void {
    for (const entry of entries) this.#queue.add(entry);
    const missing = Math.min(concurrentRetries - this.#retrying, this.#queue.size);
    for (let n = 0; n < missing; n++) void this.#retryQueued();
  }

  async #retryQueued(): Promise<void> {
    this.#retrying++;
    for (const entry of this.#queue) {
      this.#queue.delete(entry);
      if (this.#byKey.get(entry.key) === entry) await this.#retry(entry);
    }
    this.#retrying--;
  }

  async #retry(entry: UnreadableEntry): Promise<void> {
    const read = await this.#turns.runOrSchedule(() => entry.retry());
    const { postponed, pending } = read.unreadable ? read : {};
    if (postponed) void this.#retryAfter(postponed, entry);
    // The plugin of this entry hangs, but that of the next one may not.
    if (pending) void pending.then((late) => this.#resolve(entry, late));
    else await this.#turns.runOrSchedule(() => this.#resolve(entry, read));
  }

  #resolve(was: UnreadableEntry, is: Entry): void {
    if (this.#byKey.get(was.key) !== was) return;
    if (is.unreadable?.isPermanent === was.unreadable.isPermanent) return;
    this.#pending.delete(was);
    this.set(was.key, is);
    this.#onResolved(is);
  }
}
