import type { Operation } from './history.ts';

/**
 * Each write happens at one moment between its invocation and its response, in the order of the log. Each observation
 * happens between two writes. All of it is possible if and only if the earliest possible moments, computed in order, do
 * not exceed the response times, because every constraint only delays moments.
 */
export interface TimedWrite {
  readonly invokedMs: number;
  readonly returnedMs: number;
}

/** From after the write at `begin` (counted from 1; 0 is the beginning) to before the write at `end`. */
export interface Interval {
  readonly begin: number;
  readonly end: number;
}

export interface Observation {
  readonly operation: Operation;
  /** The intervals in which the outcome is true, in order; never empty. */
  readonly candidates: readonly Interval[];
}

export function findMisplaced(
  writes: readonly TimedWrite[],
  observations: readonly Observation[],
): { writes: number[]; observed: Operation[] } {
  // The latest interval constrains the fewest writes. If it starts too late, the previous one is tried, which only
  // delays moments further; so no dropped interval becomes possible again.
  const placed = observations.map(({ operation, candidates }) => ({ operation, left: [...candidates] }));
  const observed: Operation[] = [];
  let earliestMs: number[];
  for (let moved = true; moved; ) {
    moved = false;
    earliestMs = earliestTimes(writes, placed);
    for (const one of placed) {
      const unreachable = (): boolean =>
        (earliestMs[one.left.at(-1)?.begin ?? -1] ?? Number.NEGATIVE_INFINITY) > one.operation.returnedMs;
      while (unreachable()) {
        one.left.pop();
        moved = true;
        if (one.left.length === 0) observed.push(one.operation);
      }
    }
  }
  return {
    writes: writes.flatMap(({ returnedMs }, at) => ((earliestMs[at + 1] as number) > returnedMs ? [at] : [])),
    observed,
  };
}

interface Placed {
  readonly operation: Operation;
  readonly left: readonly Interval[];
}

/** The earliest time of each position: 0 is the beginning, n + 1 the end. */
function earliestTimes(writes: readonly TimedWrite[], placed: readonly Placed[]): number[] {
  const seenAt = Map.groupBy(
    placed.filter(({ left }) => left.length > 0),
    ({ left }) => left.at(-1)?.begin ?? 0,
  );
  const notBefore = new Array<number>(writes.length + 2).fill(Number.NEGATIVE_INFINITY);
  let now = Number.NEGATIVE_INFINITY;
  return [undefined, ...writes].map((write, position) => {
    now = Math.max(now, write?.invokedMs ?? now, notBefore[position] as number);
    for (const { operation, left } of seenAt.get(position) ?? []) {
      const end = left.at(-1)?.end ?? 0;
      notBefore[end] = Math.max(notBefore[end] as number, operation.invokedMs, now);
    }
    return now;
  });
}
