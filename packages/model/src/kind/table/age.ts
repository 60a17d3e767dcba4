const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A duration since a time, like kubectl shows it: the longer, the coarser. Null is an unknown time. */
export function formatAge(time: string | null | undefined, nowMs: number): string {
  if (!time) return '<unknown>';
  const seconds = Math.trunc((nowMs - Date.parse(time)) / 1000);
  // Clocks of two machines differ by a second; further ahead is no time at which anything can have happened.
  if (seconds < -1) return '<invalid>';
  const { unit, letter, smaller, smallerLetter } = steps.find(({ below }) => seconds < below) ?? longest;
  const count = Math.floor(Math.max(seconds, 0) / unit);
  const rest = smaller ? Math.floor((seconds % unit) / smaller) : 0;
  return `${count}${letter}${rest > 0 ? `${rest}${smallerLetter}` : ''}`;
}

interface Step {
  readonly unit: number;
  readonly letter: string;
  readonly smaller?: number;
  readonly smallerLetter?: string;
}

/** The first step whose bound is not reached applies. */
const steps: readonly (Step & { readonly below: number })[] = [
  { below: 2 * minute, unit: 1, letter: 's' },
  { below: 10 * minute, unit: minute, letter: 'm', smaller: 1, smallerLetter: 's' },
  { below: 3 * hour, unit: minute, letter: 'm' },
  { below: 8 * hour, unit: hour, letter: 'h', smaller: minute, smallerLetter: 'm' },
  { below: 2 * day, unit: hour, letter: 'h' },
  { below: 8 * day, unit: day, letter: 'd', smaller: hour, smallerLetter: 'h' },
  { below: 2 * year, unit: day, letter: 'd' },
  { below: 8 * year, unit: year, letter: 'y', smaller: day, smallerLetter: 'd' },
];
const longest: Step = { unit: year, letter: 'y' };
