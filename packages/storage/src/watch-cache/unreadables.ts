/**
 * The entries of a memory that could not be read. They alone are read again, when that may succeed, and not all that is
 * stored.
 */
import type { Entry, Unreadable } from '../store.ts';

/** So many at a time: whoever keeps their keys has others to answer too. */
const retriesAtOnce = 32;

export class Unreadables {
  readonly #byKey = new Map<string, Unreadable>();
  readonly #settled: (entry: Entry) => void;
  #retrying = false;
  #retryAgain = false;

  /**
   * Calls back when one has become readable; and when one that took long is known, readable or not, whatever was
   * stored in its place meanwhile.
   */
  constructor(settled: (entry: Entry) => void) {
    this.#settled = settled;
  }

  /** This is what is stored under a key now; undefined when it was deleted. */
  note(key: string, entry: Entry | undefined): void {
    if (!entry?.unreadable) {
      if (this.#byKey.size > 0) this.#byKey.delete(key);
      return;
    }
    this.#byKey.set(key, entry);
    void entry.late?.then((read) => {
      if (this.#byKey.get(key) === entry) this.#settle(entry, read);
      else this.#settled(read);
    });
  }

  clear(): void {
    this.#byKey.clear();
  }

  /** Returns at once. What is asked for meanwhile is tried in one further round. */
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
        for (const entry of entries) this.#settle(entry, await entry.retry());
      };
      await Promise.all(Array.from({ length: retriesAtOnce }, work));
    } while (this.#retryAgain);
    this.#retrying = false;
  }

  #settle(was: Unreadable, is: Entry): void {
    if (is.unreadable || this.#byKey.get(was.key) !== was) return;
    this.#byKey.delete(was.key);
    this.#settled(is);
  }
}
