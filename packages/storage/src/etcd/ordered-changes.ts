/**
 * A queue that delivers changes in etcd's order, although some are decrypted sooner than others. While the reader waits for
 * one, later ones are decrypted already, up to a bound.
 */
import type { ChangeSet } from '../store.ts';

/** As many as a KMS plugin gets concurrent calls. */
const bufferedSetsMax = 100;

export class OrderedChanges {
  readonly #sets: (ChangeSet | Promise<ChangeSet>)[] = [];
  #fault: Error | undefined;
  #ended = false;
  #wakeReader = (): void => {};
  #wakeWriter = (): void => {};

  /** Returns undefined if the writer may push more at once, else a promise to wait for. */
  push(set: ChangeSet | Promise<ChangeSet>): Promise<void> | undefined {
    if (set instanceof Promise) set.catch(() => {}); // the reader gets the error when it comes to this set
    this.#sets.push(set);
    this.#wakeReader();
    if (this.#sets.length < bufferedSetsMax) return undefined;
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
    });
  }

  /** Sets that were pushed before are still delivered. */
  end(fault?: Error): void {
    this.#fault = fault;
    this.#ended = true;
    this.#wakeReader();
  }

  /** The reader has stopped: a waiting writer continues. */
  releaseWriter(): void {
    this.#wakeWriter();
  }

  /** The next set; undefined at the end. Throws the fault that ended the queue. */
  async next(): Promise<ChangeSet | undefined> {
    for (;;) {
      const set = this.#sets.shift();
      if (set) {
        if (this.#sets.length < bufferedSetsMax / 2) this.#wakeWriter();
        return set;
      }
      if (this.#fault) throw this.#fault;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }
}
