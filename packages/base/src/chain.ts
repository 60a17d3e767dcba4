import { requireValue } from './invariant.ts';

/** Most values of a request are there at once. These functions wait only for one that is not. */

/** What follows a value. */
export const chain = <T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Calls `attempt` with one item after the other, until an answer is not undefined. */
export function firstOf<Item, Answer>(
  items: readonly Item[],
  attempt: (item: Item, index: number) => Answer | undefined | Promise<Answer | undefined>,
  from = 0,
): Answer | undefined | Promise<Answer | undefined> {
  for (let at = from; at < items.length; at++) {
    const answer = attempt(requireValue(items[at]), at);
    if (answer instanceof Promise) return answer.then((found) => found ?? firstOf(items, attempt, at + 1));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Reports how each call of `act` ended. A call that ends at once allocates nothing. */
export interface CallObserver<A, T> {
  /** The result is given to the others. */
  readonly begin: () => number;
  readonly end: (startMs: number, result: T, argument: A) => void;
  readonly fail: (startMs: number, error: unknown, argument: A) => void;
}

export function observeCalls<A, B, T>(
  act: (first: A, second: B) => T | Promise<T>,
  { begin, end, fail }: CallObserver<A, T>,
): (first: A, second: B) => T | Promise<T> {
  const wait = async (startMs: number, result: Promise<T>, argument: A): Promise<T> => {
    let found: T;
    try {
      found = await result;
    } catch (error) {
      fail(startMs, error, argument);
      throw error;
    }
    end(startMs, found, argument);
    return found;
  };
  return (first, second) => {
    const startMs = begin();
    let result: T | Promise<T>;
    try {
      result = act(first, second);
    } catch (error) {
      fail(startMs, error, first);
      throw error;
    }
    if (result instanceof Promise) return wait(startMs, result, first);
    end(startMs, result, first);
    return result;
  };
}
