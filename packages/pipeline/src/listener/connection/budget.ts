import { FairQueue } from '@cluster-apiserver/base';

interface Waiter {
  readonly owner: object | string;
  readonly wake: () => void;
}

/**
 * A limit of what is in use, such as bytes in memory, with a queue of waiters whose owners alternate. What a nested budget
 * uses, such as that of a connection, also counts for the outer one. A budget is full at its limit; the last acquisition may
 * exceed it.
 */
export class Budget {
  used = 0;
  readonly #limit: number;
  readonly #outer: Budget | undefined;
  /** Undefined for the many connections that never wait. */
  #waiting: FairQueue<Waiter> | undefined;

  constructor(limit: number, outer?: Budget) {
    this.#limit = limit;
    this.#outer = outer;
  }

  /** Whether this budget is full, regardless of the outer one. */
  get isFull(): boolean {
    return this.used >= this.#limit;
  }

  get hasWaiters(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0;
  }

  acquire(amount: number): void {
    this.used += amount;
    this.#outer?.acquire(amount);
    this.#wakeNext();
  }

  release(amount: number): void {
    this.used -= amount;
    this.#outer?.release(amount);
    this.#wakeNext();
  }

  /** Resolves when this budget and the outer one have space, or when it is no longer needed. */
  async waitForSpace(owner: object | string, isAbandoned: () => boolean): Promise<void> {
    while (this.isFull && !isAbandoned()) await new Promise<void>((wake) => this.#enqueue({ owner, wake }));
    await this.#outer?.waitForSpace(owner, isAbandoned);
    // An abandoned waiter passes its space on to the next.
    if (isAbandoned()) this.#wakeNext();
  }

  #enqueue(waiter: Waiter): void {
    this.#waiting ??= new FairQueue(({ owner }) => owner);
    this.#waiting.push(waiter);
    this.#waiting.alternateOwners();
  }

  /** Wakes one waiter, which acquires what it needs and wakes the next if there is space. */
  #wakeNext(): void {
    if (this.#waiting && !this.isFull) this.#waiting.shift()?.wake();
  }
}
