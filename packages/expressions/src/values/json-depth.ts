import { EvaluationError } from './value.ts';

/** Whoever sends JSON chooses its depth, and the stack is shared by all requests. */
export const jsonDepthMax = 200;

export const tooDeep = (): EvaluationError =>
  new EvaluationError(`the value is nested deeper than ${jsonDepthMax} levels`);
