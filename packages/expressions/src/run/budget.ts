/** An expression asked for more work than it is granted. Nothing inside an expression can catch this. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError';
  constructor() {
    super('the evaluation was stopped because it cost more than its budget');
  }
}

/**
 * What one evaluation may still do, in steps of less than half a microsecond. Steps and not time: the same
 * expression over the same values ends in the same way on every machine.
 */
export class Budget {
  #left: number;
  constructor(steps: number) {
    this.#left = steps;
  }

  charge(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceededError();
  }
}
