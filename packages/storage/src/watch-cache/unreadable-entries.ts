/** The unreadable entries of the cache. Only these are decrypted again when that may succeed. */
import type { Entry, UnreadableEntry } from '../store.ts';

/** Bounded, because the KMS plugin also serves other requests. */
const concurrentRetries = 32;

export class UnreadableEntries {
  readonly #byKey = new Map<string, UnreadableEntry>();
  /** Entries, also replaced ones, whose decryption continues. */
  readonly #pending = new Set<UnreadableEntry>();
  readonly #onResolved: (entry: Entry) => void;
  /** Entries were postponed until these resolve. */
  readonly #postponements = new Set<Promise<void>>();
  #retrying = false;
  #retryAgain = false;

  /**
   * Calls back when an entry has become readable, has been refused for good, or is refused only at present after all. Also
   * calls back when the decryption of an entry that was replaced meanwhile has ended, whatever the result.
   */
  constructor(onResolved: (entry: Entry) => void) {
    this.#onResolved = onResolved;
  }

  /** The present entry of a key; undefined if it was deleted. */
  set(key: string, entry: Entry | undefined): void {
    if (!entry?.unreadable) {
      if (this.#byKey.size > 0) this.#byKey.delete(key);
      return;
    }
    this.#byKey.set(key, entry);
    if (entry.postponed) void this.#retryAfter(entry.postponed);
    if (entry.pending) void this.#awaitPending(entry, entry.pending);
  }

  /** Forgets all entries, and the results of decryptions that continue. */
  clear(): void {
    this.#byKey.clear();
    this.#pending.clear();
  }

  async #awaitPending(entry: UnreadableEntry, pending: Promise<Entry>): Promise<void> {
    this.#pending.add(entry);
    const read = await pending;
    // A retry may have been faster, and its result is the newer one.
    if (!this.#pending.delete(entry)) return;
    if (this.#byKey.get(entry.key) === entry) this.#resolve(entry, read);
    else this.#onResolved(read);
  }

  /** Once for all entries that were postponed together. */
  async #retryAfter(postponed: Promise<void>): Promise<void> {
    if (this.#postponements.has(postponed)) return;
    this.#postponements.add(postponed);
    await postponed;
    this.#postponements.delete(postponed);
    this.retry();
  }

  /** Returns at once. Calls during a round cause one further round. */
  retry(): void {
    if (this.#retrying) this.#retryAgain = true;
    else void this.#retry();
  }

  async #retry(): Promise<void> {
    this.#retrying = true;
    do {
      this.#retryAgain = false;
      const entries = this.#byKey.values();
      const work = async (): Promise<void> => {
        for (const entry of entries) this.#resolve(entry, await entry.retry());
      };
      await Promise.all(Array.from({ length: concurrentRetries }, work));
    } while (this.#retryAgain);
    this.#retrying = false;
  }

  #resolve(was: UnreadableEntry, is: Entry): void {
    if (this.#byKey.get(was.key) !== was) return;
    if (is.unreadable?.isPermanent === was.unreadable.isPermanent) return;
    this.#pending.delete(was);
    this.set(was.key, is);
    this.#onResolved(is);
  }
}
