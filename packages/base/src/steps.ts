import { type Call, throwIfAborted } from './call.ts';
import type { Clock } from './clock.ts';
import { sliceEnd, turnsOf } from './turns.ts';

/** Work in steps of a few milliseconds at most, even for the largest input: wherever it yields, others may be served. */
export type Steps<T> = Generator<undefined, T>;

/** The same for work that waits now and then: a promise that it yields is waited for. */
export type Work<T> = Generator<Promise<unknown> | undefined, T>;

/** What a promise resolves to, or the value itself, which nobody waits for. */
export function* resultOf<T>(value: T | Promise<T>): Work<T> {
  // The driver resumes a generator with what the promise it yielded has resolved to.
  return value instanceof Promise ? ((yield value) as T) : value;
}

/**
 * A function whose work is never much, where steps are expected. Generator functions are declared at the top of a file:
 * V8 keeps a map for each one that is made, with all that it sees, until a collection of the old generation.
 */
export const inOneStep =
  <A, B>(work: (given: A) => B): ((given: A) => Steps<B>) =>
  (given) =>
    oneStep(work, given);

function* oneStep<A, B>(work: (given: A) => B, given: A): Steps<B> {
  yield;
  return work(given);
}

/** Takes all steps without a break. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** From so many bytes on, work on an object takes long enough to begin in a turn of its own: V8 alone reads as much in a millisecond. */
export const largeBytesMin = 32 * 1024;

/**
 * Does the work, at once if that is a matter of a few milliseconds. What takes longer, or is known to be large, goes on
 * in turns with other long work, and what follows it begins in a turn of its own. Between turns it ends with the call, if
 * it is done for one.
 */
export function perform<T>(clock: Clock, call: Call | undefined, work: Work<T>, isLarge = false): T | Promise<T> {
  if (isLarge) return goOn(clock, call, work, undefined);
  const first = proceed(work, () => work.next(), sliceEnd(clock));
  return first.done ? first.value : goOn(clock, call, work, first);
}

async function goOn<T>(
  clock: Clock,
  call: Call | undefined,
  work: Work<T>,
  first: IteratorResult<Promise<unknown> | undefined, T> | undefined,
): Promise<T> {
  const turns = turnsOf(clock);
  let takesTurns = first === undefined;
  let at = first;
  while (!at?.done) {
    let resume = (): IteratorResult<Promise<unknown> | undefined, T> => work.next();
    if (at?.value)
      try {
        const value = await at.value;
        resume = () => work.next(value);
      } catch (error) {
        resume = () => work.throw(error);
      }
    else takesTurns = true;
    if (call) throwIfAborted(call);
    at = takesTurns
      ? await turns.take((isOver) => proceed(work, resume, isOver))
      : proceed(work, resume, sliceEnd(clock));
  }
  const { value } = at;
  if (takesTurns) await turns.take(() => {});
  return value;
}

/** Takes steps until the slice is over, the work waits or has ended. */
function proceed<T>(
  work: Work<T>,
  resume: () => IteratorResult<Promise<unknown> | undefined, T>,
  isOver: () => boolean,
): IteratorResult<Promise<unknown> | undefined, T> {
  let at = resume();
  while (!at.done && at.value === undefined && !isOver()) at = work.next();
  return at;
}
