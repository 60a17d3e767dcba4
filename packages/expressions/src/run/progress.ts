import type { Comparison } from '../values/comparison.ts';
import type { Value } from '../values/value.ts';
import type { Mark } from './budget.ts';
import type { Walk } from './walk.ts';

/**
 * An evaluation stops in the middle: its turn is over, or it waits for an answer. It is no error of the expression, and
 * nothing in it catches it. The evaluation then begins again, with what its `Progress` has kept.
 */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  /** What it waits for; undefined when only its turn is over. */
  readonly until: Promise<unknown> | undefined;

  constructor(until?: Promise<unknown>) {
    super('the evaluation is interrupted');
    this.until = until;
  }
}

/** What a part of an expression came to, and the budget that was left then, so that beginning again costs nothing. */
export type SlotResult =
  | ({ readonly kind: 'value'; readonly value: Value } & Mark)
  | ({ readonly kind: 'error'; readonly error: unknown } & Mark);

/** A comparison that was interrupted, and the budget that was left then. */
interface PendingComparison extends Mark {
  readonly kind: 'comparison';
  readonly comparison: Comparison;
}

/** What is kept of one part of an expression. */
type State = SlotResult | PendingComparison | Walk;

/**
 * What an interrupted evaluation has done, by the slots of its loops and of its costly calls. It is empty until
 * something is worth keeping, so that a cheap expression pays for one comparison.
 */
export class Progress {
  #states: Map<number, State> | undefined;
  /** Nothing before the first interruption took long, and after it all that is done is kept. */
  wasInterrupted = false;

  get(slot: number): State | undefined {
    return this.#states?.get(slot);
  }

  set(slot: number, state: State): void {
    this.#states ??= new Map();
    this.#states.set(slot, state);
  }

  /** What the loop at a slot has inside belongs to one of its rounds. */
  forgetBetween(first: number, end: number): void {
    if (this.#states) for (let slot = first; slot < end; slot++) this.#states.delete(slot);
  }
}
