/**
 * Work written as generators, so that one large input does not block the event loop: wherever a task yields, other
 * requests may be served. `runTask` runs a task at once if it is short and in time slices if it is long.
 */
import type { Call } from './call.ts';
import type { Clock } from './clock.ts';
import { loopOf } from './loop.ts';

/** A task that never waits. Each step takes a few milliseconds at most, even for the largest input. */
export type SyncTask<T> = Generator<undefined, T>;

/** A task that may also wait: the runner awaits each promise that it yields. */
export type Task<T> = Generator<Promise<unknown> | undefined, T>;

/** `yield* awaitValue(x)` is the `await x` of tasks; a value that is no promise is returned at once. */
export function* awaitValue<T>(value: T | Promise<T>): Task<T> {
  if (!(value instanceof Promise)) return value;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the runner resumes a task with what its promise has resolved to
  return (yield value) as T;
}

/**
 * Wraps a short function where a task is expected. Declare generator functions at the top level of a file: V8 keeps a map
 * for each one that is created, with everything it closes over, until a collection of the old generation.
 */
export const toSyncTask =
  <A, B>(work: (given: A) => B): ((given: A) => SyncTask<B>) =>
  (given) =>
    oneStep(work, given);

function* oneStep<A, B>(work: (given: A) => B, given: A): SyncTask<B> {
  yield;
  return work(given);
}

/** Runs all steps without a break. */
export function runSync<T>(task: SyncTask<T>): T {
  for (;;) {
    const { done, value } = task.next();
    if (done) return value;
  }
}

/** Tasks on objects from this size on begin in a time slice of their own: V8 alone reads as much in a millisecond. */
export const largeBytesMin = 32 * 1024;

/**
 * Runs a task. A short one completes synchronously, unless the iteration of the event loop is late. A task that takes longer,
 * or is known to be large, shares time slices with other long tasks, and its caller continues in a new slice. A call that is
 * aborted ends the task between slices.
 */
export function runTask<T>(clock: Clock, call: Call | undefined, task: Task<T>, isLarge: true): Promise<T>;
export function runTask<T>(clock: Clock, call: Call | undefined, task: Task<T>, isLarge?: boolean): T | Promise<T>;
export function runTask<T>(clock: Clock, call: Call | undefined, task: Task<T>, isLarge = false): T | Promise<T> {
  if (isLarge) return runInSlices(clock, call, task, undefined);
  if (loopOf(clock).isLate) return runLate(clock, call, task);
  const first = runFirstSlice(clock, task);
  return first.done ? first.value : runInSlices(clock, call, task, first);
}

/** In the next iteration of the event loop that has time for small writes. */
async function runLate<T>(clock: Clock, call: Call | undefined, task: Task<T>): Promise<T> {
  const first = await loopOf(clock).schedule(() => runFirstSlice(clock, task), 'write');
  return first.done ? first.value : runInSlices(clock, call, task, first);
}

const runFirstSlice = <T>(clock: Clock, task: Task<T>): IteratorResult<Promise<unknown> | undefined, T> =>
  runSlice(task, () => task.next(), startSlice(clock));

async function runInSlices<T>(
  clock: Clock,
  call: Call | undefined,
  task: Task<T>,
  first: IteratorResult<Promise<unknown> | undefined, T> | undefined,
): Promise<T> {
  const loop = loopOf(clock);
  let isScheduled = first === undefined;
  let step = first;
  while (!step?.done) {
    let resume = (): IteratorResult<Promise<unknown> | undefined, T> => task.next();
    if (step?.value)
      try {
        const value = await step.value;
        resume = () => task.next(value);
      } catch (error) {
        resume = () => task.throw(error);
      }
    else isScheduled = true;
    if (call?.isAborted) {
      const abandoned: Task<unknown> = task;
      abandoned.return(undefined); // runs its `finally` blocks
      throw call.signal?.reason;
    }
    step = isScheduled
      ? await loop.schedule((shouldYield) => runSlice(task, resume, shouldYield))
      : runSlice(task, resume, startSlice(clock));
  }
  const { value } = step;
  if (isScheduled) await loop.schedule(() => {});
  return value;
}

/** A task that takes longer than this continues in slices. */
const firstSliceMs = 4;

/** Starts a slice. The returned function says whether it is over. */
function startSlice(clock: Clock): () => boolean {
  const endMs = clock.monotonicMs() + firstSliceMs;
  return () => clock.monotonicMs() >= endMs;
}

/** Runs steps until the slice is over, or the task waits or ends. */
function runSlice<T>(
  task: Task<T>,
  resume: () => IteratorResult<Promise<unknown> | undefined, T>,
  shouldYield: () => boolean,
): IteratorResult<Promise<unknown> | undefined, T> {
  let step = resume();
  while (!step.done && step.value === undefined && !shouldYield()) step = task.next();
  return step;
}
