import type { Budget } from '../run/budget.ts';
import { equal } from './equal.ts';
import { pairsByIdentity } from './unordered-list.ts';
import { MapValue, type Value } from './value.ts';

type Container = readonly Value[] | MapValue;

export const isContainer = (value: Value): value is Container => Array.isArray(value) || value instanceof MapValue;

/** Whether two lists or maps are equal, found out in steps: an object of megabytes takes longer than a turn. */
export class Comparison {
  /** From the outside in, each with what is left to compare in it. */
  readonly #open: Iterator<readonly [Value, Value | undefined]>[] = [];
  #areEqual: boolean;

  constructor(left: Container, right: Value, budget: Budget) {
    this.#areEqual = this.#enter(left, right, budget);
  }

  /** Undefined when the turn is over first. */
  proceed(budget: Budget): boolean | undefined {
    for (let inner = this.#open.at(-1); this.#areEqual && inner; inner = this.#open.at(-1)) {
      if (budget.isTurnOver) return undefined;
      budget.useTurn(1);
      const { done, value } = inner.next();
      if (done === true) this.#open.pop();
      else this.#areEqual = this.#compare(value[0], value[1], budget);
    }
    return this.#areEqual;
  }

  #compare(left: Value, right: Value | undefined, budget: Budget): boolean {
    if (right === undefined) return false;
    return isContainer(left) ? this.#enter(left, right, budget) : equal(left, right, budget);
  }

  #enter(left: Container, right: Value, budget: Budget): boolean {
    if (left instanceof MapValue) {
      if (!(right instanceof MapValue) || left.size !== right.size) return false;
      budget.charge(left.size);
      this.#open.push(valuesOfBoth(left, right));
    } else {
      if (!Array.isArray(right) || left.length !== right.length) return false;
      budget.charge(left.length);
      const unordered = pairsByIdentity(left, right);
      if (unordered) budget.charge(2 * left.length);
      this.#open.push(unordered ?? elementsOfBoth(left, right));
    }
    return true;
  }
}

function* elementsOfBoth(
  left: readonly Value[],
  right: readonly Value[],
): Iterator<readonly [Value, Value | undefined]> {
  for (const [index, element] of left.entries()) yield [element, right[index]];
}

function* valuesOfBoth(left: MapValue, right: MapValue): Iterator<readonly [Value, Value | undefined]> {
  for (const [key, value] of left.entries()) yield [value, right.get(key)];
}
