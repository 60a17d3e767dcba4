/**
 * A limit of bytes in memory, with a queue of waiters. Bytes of a nested budget, such as that of a connection, also
 * count for the outer one. A budget is full at its limit; the last acquisition may exceed it by one piece.
 */
export class MemoryBudget {
  bytes = 0;
  readonly #limitBytes: number;
  readonly #outer: MemoryBudget | undefined;
  /** Undefined for the many connections that never wait. */
  #waiting: (() => void)[] | undefined;

  constructor(limitBytes: number, outer?: MemoryBudget) {
    this.#limitBytes = limitBytes;
    this.#outer = outer;
  }

  /** Whether this budget is full, regardless of the outer one. */
  get isFull(): boolean {
    return this.bytes >= this.#limitBytes;
  }

  get hasWaiters(): boolean {
    return (this.#waiting?.length ?? 0) > 0;
  }

  acquire(bytes: number): void {
    this.bytes += bytes;
    this.#outer?.acquire(bytes);
    this.#wakeNext();
  }

  release(bytes: number): void {
    this.bytes -= bytes;
    this.#outer?.release(bytes);
    this.#wakeNext();
  }

  /** Resolves when this budget and the outer one have space, or when it is no longer needed. */
  async waitForSpace(isAbandoned: () => boolean): Promise<void> {
    while (this.isFull && !isAbandoned()) await new Promise<void>((resolve) => (this.#waiting ??= []).push(resolve));
    await this.#outer?.waitForSpace(isAbandoned);
    // An abandoned waiter passes its space on to the next.
    if (isAbandoned()) this.#wakeNext();
  }

  /** Wakes one waiter, which acquires its piece and wakes the next if there is space. */
  #wakeNext(): void {
    if (this.#waiting && !this.isFull) this.#waiting.shift()?.();
  }
}
