/** Time slices for long work on the event loop, which serves all clients with one thread. */
import type { Clock } from './clock.ts';

/** One slice of long work blocks the event loop for no longer than this. */
const sliceMs = 4;

/** Starts a slice. The returned function says whether it is over. */
export function startSlice(clock: Clock): () => boolean {
  const endMs = clock.monotonicMs() + sliceMs;
  return () => clock.monotonicMs() >= endMs;
}

/** Tasks per iteration: callers process the results after the slice, where nothing checks the clock. */
const tasksPerIterationMax = 32;

/**
 * Iterations of the event loop from one slice to the next. Other requests need several: a read needs one for its request,
 * one for the response of etcd and one for its own response. Idle iterations take microseconds.
 */
export const iterationsPerSlice = 4;

/**
 * Schedules long tasks on the event loop. All tasks together get a few milliseconds per slice, and the iterations of
 * the event loop in between serve everything else.
 */
export class TaskScheduler {
  readonly #clock: Clock;
  readonly #queue: (() => void)[] = [];
  #isScheduled = false;
  /** When the time of this iteration is used up; undefined before its first task. */
  #endMs: number | undefined;
  #startedNow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Queues a task. Its `shouldYield` says when the task should let others run. */
  schedule<T>(task: (shouldYield: () => boolean) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push(() => {
        try {
          resolve(task(startSlice(this.#clock)));
        } catch (error) {
          reject(error);
        }
      });
      this.#scheduleRun();
    });
  }

  /**
   * Runs a task at once if this iteration has time for it, and queues it otherwise. For short tasks: one alone has no
   * delay, and hundreds that become ready at the same moment spread over as many iterations as they need.
   */
  runOrSchedule<T>(task: () => T): T | Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    this.#endMs ??= nowMs + sliceMs;
    if (this.#queue.length > 0 || this.#startedNow === tasksPerIterationMax || nowMs >= this.#endMs)
      return this.schedule(task);
    this.#startedNow++;
    this.#scheduleRun();
    return task();
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#waitIterations(iterationsPerSlice);
  }

  #waitIterations(iterations: number): void {
    this.#clock.soon(() => (iterations > 1 ? this.#waitIterations(iterations - 1) : this.#run()));
  }

  #run(): void {
    this.#isScheduled = false;
    this.#endMs = undefined;
    this.#startedNow = 0;
    // Tasks that are queued meanwhile run in the next slice.
    const queued = Math.min(this.#queue.length, tasksPerIterationMax);
    if (queued === 0) return;
    const shouldYield = startSlice(this.#clock);
    for (let ran = 0; ran < queued; ran++) {
      this.#queue.shift()?.();
      if (shouldYield()) break;
    }
    if (this.#queue.length > 0) this.#scheduleRun();
  }
}

/**
 * The time that one long loop may run before it yields to the event loop. It begins with the first `resume` of an iteration,
 * and so includes what the source of the loop does between two items: to decode them, and to collect garbage meanwhile.
 */
export class TimeSlice {
  readonly #clock: Clock;
  /** When the slice of this iteration is over; undefined before its first item. */
  #endMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The loop starts, or continues after a wait. */
  resume(): void {
    if (this.#endMs !== undefined) return;
    this.#endMs = this.#clock.monotonicMs() + sliceMs;
    // Before a loop that yields now is continued, so that it gets a new slice.
    this.#clock.soon(() => (this.#endMs = undefined));
  }

  shouldYield(): boolean {
    return this.#endMs !== undefined && this.#clock.monotonicMs() >= this.#endMs;
  }

  /** Resolves in the next iteration of the event loop, with a new slice. */
  async yieldToEventLoop(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.soon(resolve));
    this.resume();
  }
}

const schedulers = new WeakMap<Clock, TaskScheduler>();

/** A process has one clock and one event loop, so one scheduler. */
export function schedulerOf(clock: Clock): TaskScheduler {
  let scheduler = schedulers.get(clock);
  if (!scheduler) {
    scheduler = new TaskScheduler(clock);
    schedulers.set(clock, scheduler);
  }
  return scheduler;
}
