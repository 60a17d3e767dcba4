/** The unreadable entries of the cache. Only these are decrypted again when that may succeed. */
import type { Entry, UnreadableEntry } from '../store.ts';

/** Bounded, because the KMS plugin also serves other requests. */
const concurrentRetries = 32;

export class UnreadableEntries {
  readonly #byKey = new Map<string, UnreadableEntry>();
  readonly #onResolved: (entry: Entry) => void;
  #retrying = false;
  #retryAgain = false;

  /**
   * Calls back when an entry has become readable, and when a pending decryption has ended, readable or not, even if the
   * entry was replaced meanwhile.
   */
  constructor(settled: (entry: Entry) => void) {
    this.#onResolved = settled;
  }

  /** The present entry of a key; undefined if it was deleted. */
  set(key: string, entry: Entry | undefined): void {
    if (!entry?.unreadable) {
      if (this.#byKey.size > 0) this.#byKey.delete(key);
      return;
    }
    this.#byKey.set(key, entry);
    void entry.pending?.then((read) => {
      if (this.#byKey.get(key) === entry) this.#resolve(entry, read);
      else this.#onResolved(read);
    });
  }

  clear(): void {
    this.#byKey.clear();
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
    if (is.unreadable || this.#byKey.get(was.key) !== was) return;
    this.#byKey.delete(was.key);
    this.#onResolved(is);
  }
}
