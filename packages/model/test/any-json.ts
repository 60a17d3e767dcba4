import { array, constantFrom, letrec, oneof, tuple } from 'fast-check';
import { names } from './random-json.ts';

export const anyName = constantFrom(...names);

const scalar = constantFrom(null, 0, 1, 2, true, false, '', 'x', 'y', '', 'x', 'y');

/** Small values over few names, so that patches meet what is there. */
export const { anyValue, anyMap } = letrec<{ anyValue: unknown; anyMap: Record<string, unknown> }>((tie) => ({
  anyValue: oneof(
    { maxDepth: 3, depthSize: 'max', withCrossShrink: true },
    { arbitrary: scalar, weight: 6 },
    { arbitrary: array(tie('anyValue'), { maxLength: 3 }), weight: 1 },
    { arbitrary: tie('anyMap'), weight: 2 },
  ),
  anyMap: array(tuple(anyName, tie('anyValue')), { maxLength: 3 }).map(Object.fromEntries),
}));
