/**
 * Changes in the order in which etcd told them, though some of them are read sooner than others. While one is waited
 * for, those after it are read already, up to a bound.
 */
import type { ChangeSet } from '../store.ts';

/** As many questions as a key management plugin is asked at a time. */
const bufferedSetsMax = 100;

export class OrderedChanges {
  readonly #sets: (ChangeSet | Promise<ChangeSet>)[] = [];
  #fault: Error | undefined;
  #ended = false;
  #wakeReader = (): void => {};
  #wakeWriter = (): void => {};

  /** Undefined when more can be taken at once. */
  push(set: ChangeSet | Promise<ChangeSet>): Promise<void> | undefined {
    if (set instanceof Promise) set.catch(() => {}); // told when it is its turn
    this.#sets.push(set);
    this.#wakeReader();
    if (this.#sets.length < bufferedSetsMax) return undefined;
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
    });
  }

  /** What was pushed before is still given. */
  end(fault?: Error): void {
    this.#fault = fault;
    this.#ended = true;
    this.#wakeReader();
  }

  /** Nobody reads any more: whoever waits to push need not. */
  releaseWriter(): void {
    this.#wakeWriter();
  }

  /** The next one; undefined at the end. Throws the fault that ended it. */
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
