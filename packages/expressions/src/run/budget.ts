/** An expression asked for more work than it is granted. Nothing inside an expression can catch this. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError';
  constructor(message = 'operation cancelled: actual cost limit exceeded') {
    super(message);
  }
}

/** About a tenth of a second, far more than any rule needs: it is there for the one that never ends. */
export const expressionStepsMax = 250_000;

/**
 * What one evaluation may still do, in steps of less than half a microsecond. Steps and not time: the same
 * expression over the same values ends in the same way on every machine.
 */
export class Budget {
  left: number;
  /** The evaluation pauses where it can when less is left: others want the event loop too. */
  pauseBelow: number;
  readonly #turnSteps: number;

  constructor(
    steps: number = expressionStepsMax,
    turnSteps: number = Number.POSITIVE_INFINITY,
    turnLeft: number = turnSteps,
  ) {
    this.left = steps;
    this.#turnSteps = turnSteps;
    this.pauseBelow = steps - turnLeft;
  }

  charge(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new BudgetExceededError();
  }

  /** For work that is done elsewhere, and does not hold the event loop. */
  chargeElsewhere(steps: number): void {
    this.pauseBelow -= steps;
    this.charge(steps);
  }

  /** Where an interrupted evaluation was, with a turn of its own. */
  goOnAt(left: number): void {
    this.left = left;
    this.pauseBelow = left - this.#turnSteps;
  }

  get isTurnOver(): boolean {
    return this.left < this.pauseBelow;
  }
}
