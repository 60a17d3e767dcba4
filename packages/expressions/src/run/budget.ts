import { EvaluationError } from '../values/value.ts';

/** An expression asked for more work than it is granted. Nothing inside an expression can catch this. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError';
  constructor(message = 'operation cancelled: actual cost limit exceeded') {
    super(message);
  }
}

/** About a tenth of a second, far more than any rule needs: it is there for the one that never ends. */
export const expressionStepsMax = 250_000;

/** How much of a budget was left at some time. */
export interface Mark {
  readonly left: number;
  readonly unitsLeft: number;
}

/**
 * What one evaluation may still do, in steps of less than half a microsecond. Steps and not time: the same
 * expression over the same values ends in the same way on every machine.
 */
export class Budget implements Mark {
  left: number;
  /** Where the current call of a function ends: it is not interrupted, so it may not take all of a large budget. */
  #least = 0;
  /** The same in kube-apiserver's units of cost, which rules of custom resources are limited by. */
  unitsLeft: number;
  /** The evaluation pauses where it can when less is left: others want the event loop too. */
  pauseBelow: number;
  readonly #turnSteps: number;

  constructor(
    steps: number = expressionStepsMax,
    turnSteps: number = Number.POSITIVE_INFINITY,
    turnLeft: number = turnSteps,
    units: number = Number.POSITIVE_INFINITY,
  ) {
    this.left = steps;
    this.unitsLeft = units;
    this.#turnSteps = turnSteps;
    this.pauseBelow = steps - turnLeft;
  }

  charge(steps: number, units = 0): void {
    this.left -= steps;
    this.unitsLeft -= units;
    if (this.left < this.#least || this.unitsLeft < 0) throw new BudgetExceededError();
  }

  get countsUnits(): boolean {
    return this.unitsLeft !== Number.POSITIVE_INFINITY;
  }

  /** Runs a call of a function, which may take as much as an expression without units. */
  call<T>(run: () => T): T {
    this.#least = Math.max(0, this.left - expressionStepsMax);
    try {
      return run();
    } finally {
      this.#least = 0;
    }
  }

  /** For work that is done elsewhere, and does not hold the event loop. */
  chargeElsewhere(steps: number): void {
    this.pauseBelow -= steps;
    this.charge(steps);
  }

  /** For work that was charged before it is done. */
  useTurn(steps: number): void {
    this.pauseBelow += steps;
  }

  /** Where an interrupted evaluation was, with a turn of its own. */
  goOnAt(mark: Mark): void {
    this.restore(mark);
    this.pauseBelow = mark.left - this.#turnSteps;
  }

  /** What is known already costs what it cost before. */
  restore({ left, unitsLeft }: Mark): void {
    this.left = left;
    this.unitsLeft = unitsLeft;
  }

  get isTurnOver(): boolean {
    return this.left < this.pauseBelow;
  }
}

/** A call on a value that could not be had costs a unit in kube-apiserver. */
export function chargeFailure<T>(budget: Budget, run: () => T): T {
  if (!budget.countsUnits) return run();
  try {
    return run();
  } catch (error) {
    if (error instanceof EvaluationError) budget.charge(0, 1);
    throw error;
  }
}
