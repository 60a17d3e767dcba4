import { EvaluationError } from './value.ts';

/** Bounds recursion: clients choose the depth of JSON. */
export const jsonDepthMax = 200;

export const tooDeep = (): EvaluationError =>
  new EvaluationError(`the value is nested deeper than ${jsonDepthMax} levels`);
