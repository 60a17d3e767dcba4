import { requireValue } from './invariant.ts';

/** Work that waits only where it must: what is no promise is used at once, which costs neither a promise nor a turn. */

/** Goes on with a value. */
export const chain = <Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> => (value instanceof Promise ? value.then(next) : next(value));

/**
 * Goes on with what comes of work, or with what it throws or rejects with. All three functions get `given`, so they need
 * not be created for each request.
 */
export function settle<Given, Value, Result>(
  work: (given: Given) => Value | Promise<Value>,
  given: Given,
  done: (value: Value, given: Given) => Result | Promise<Result>,
  failed: (error: unknown, given: Given) => Result | Promise<Result>,
): Result | Promise<Result> {
  let value: Value | Promise<Value>;
  try {
    value = work(given);
  } catch (error) {
    return failed(error, given);
  }
  return value instanceof Promise ? settleLater(value, given, done, failed) : done(value, given);
}

/** A function of its own, because V8 allocates what closures see whenever it enters a function that has any. */
const settleLater = <Given, Value, Result>(
  value: Promise<Value>,
  given: Given,
  done: (value: Value, given: Given) => Result | Promise<Result>,
  failed: (error: unknown, given: Given) => Result | Promise<Result>,
): Promise<Result> =>
  value.then(
    (late) => done(late, given),
    (error: unknown) => failed(error, given),
  );

/** Calls `attempt` with one item after the other, until an answer is not undefined. */
export function firstOf<Item, Answer>(
  items: readonly Item[],
  attempt: (item: Item, index: number) => Answer | undefined | Promise<Answer | undefined>,
  from = 0,
): Answer | undefined | Promise<Answer | undefined> {
  for (let at = from; at < items.length; at++) {
    const answer = attempt(requireValue(items[at]), at);
    if (answer instanceof Promise) return firstOfLater(answer, items, attempt, at + 1);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

const firstOfLater = <Item, Answer>(
  pending: Promise<Answer | undefined>,
  items: readonly Item[],
  attempt: (item: Item, index: number) => Answer | undefined | Promise<Answer | undefined>,
  next: number,
): Promise<Answer | undefined> => pending.then((found) => found ?? firstOf(items, attempt, next));
