/**
 * Bytes in memory under a bound, and what waits until some of them have left. A budget inside another one, such as that
 * of a connection inside the process's, counts for both. It is full once the bound is reached; what is taken in that
 * moment may pass it by one piece.
 */
export class MemoryBudget {
  bytes = 0;
  readonly #limitBytes: number;
  readonly #outer: MemoryBudget | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(limitBytes: number, outer?: MemoryBudget) {
    this.#limitBytes = limitBytes;
    this.#outer = outer;
  }

  /** Whether this budget itself is full, whatever the outer one is. */
  get isFull(): boolean {
    return this.bytes >= this.#limitBytes;
  }

  get hasWaiters(): boolean {
    return this.#waiting.length > 0;
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

  /** Resolves when there is room here and outside, or when it is not needed any more. */
  async waitForSpace(isAbandoned: () => boolean): Promise<void> {
    while (this.isFull && !isAbandoned()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#outer?.waitForSpace(isAbandoned);
    // The one that was woken for room that it does not take wakes the next.
    if (isAbandoned()) this.#wakeNext();
  }

  /** One at a time: it takes its piece and wakes the next if there is still room. */
  #wakeNext(): void {
    if (this.#waiting.length > 0 && !this.isFull) this.#waiting.shift()?.();
  }
}
