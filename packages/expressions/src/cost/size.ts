/** A way from a variable to a part of its value: names of fields, or what the entries of lists and maps are called here. */
export type CostPath = readonly string[];

/** The largest size of the values at a path; undefined if nothing is known of it. */
export type SizeAt = (path: CostPath) => number | undefined;

/** A size, or a range of sizes. What has no bound is infinite. */
export interface Size {
  readonly min: number;
  readonly max: number;
}

export const unknownSize: Size = { min: 0, max: Number.POSITIVE_INFINITY };

export const exactly = (size: number): Size => ({ min: size, max: size });

export const sum = (one: Size, other: Size): Size => ({ min: one.min + other.min, max: one.max + other.max });

export const product = (one: Size, other: Size): Size => ({
  min: times(one.min, other.min),
  max: times(one.max, other.max),
});

export const union = (one: Size, other: Size): Size => ({
  min: Math.min(one.min, other.min),
  max: Math.max(one.max, other.max),
});

/** Nothing is nothing, however often. */
export const times = (one: number, other: number): number => (one === 0 || other === 0 ? 0 : one * other);

/** The cost of work on as much, rounded up. */
export const costOf = (size: number, factor: number): number => Math.ceil(times(size, factor));
