import type { Operation } from './history.ts';

/**
 * Writes happen at a point in time each, in the order of the log, between question and answer. What is seen is seen at
 * such a point too, between two writes. All of it is possible exactly when the earliest time for each point, taken in
 * order, does not lie behind its answer: every constraint only ever pushes a point to the later.
 */
export interface TimedWrite {
  readonly invokedMs: number;
  readonly returnedMs: number;
}

/** From behind the write at `begin` (counted from 1; 0 is the very beginning) to before the write at `end`. */
export interface Interval {
  readonly begin: number;
  readonly end: number;
}

export interface Observation {
  readonly operation: Operation;
  /** It was true in any of these, in order; never empty. */
  readonly candidates: readonly Interval[];
}

export function findMisplaced(
  writes: readonly TimedWrite[],
  observations: readonly Observation[],
): { writes: number[]; observed: Operation[] } {
  // The latest span constrains the fewest writes. When it cannot be reached in time the one before is taken, which only
  // pushes points to the later; so no span that was given up becomes reachable again.
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

/** The earliest time for each position: 0 is the beginning, n + 1 behind all. */
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
