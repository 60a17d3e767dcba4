import { EvaluationError } from '../values/value.ts';

/** For functions that ask whether another one would have a value. */
export function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof EvaluationError) return false;
    throw error;
  }
}
