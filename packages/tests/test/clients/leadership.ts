/** A time in which a candidate leads, by the monotonic clock of the machine. */
export interface Leadership {
  readonly candidate: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The pairs that led at the same time. */
export function overlaps(leaderships: readonly Leadership[]): readonly (readonly [Leadership, Leadership])[] {
  const ordered = leaderships.toSorted((one, other) => one.fromMs - other.fromMs);
  return ordered.flatMap((one, at) =>
    ordered
      .slice(at + 1)
      .filter(({ fromMs }) => fromMs < one.toMs)
      .map((other) => [one, other] as const),
  );
}

/** How often the leader became another one. */
export function countHandOvers(leaderships: readonly Leadership[]): number {
  const ordered = leaderships.toSorted((one, other) => one.fromMs - other.fromMs);
  return ordered.filter(({ candidate }, at) => at > 0 && ordered[at - 1]?.candidate !== candidate).length;
}
