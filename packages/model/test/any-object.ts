import { type Arbitrary, gen, nat } from 'fast-check';
import type { ObjectSchema } from '../src/schema/schema.ts';
import { randomObject } from './random-object.ts';

/** Random objects of a form. They shrink with the numbers that make them: 0 leaves a field out, and is the first choice. */
export const anyObject = (schema: ObjectSchema): Arbitrary<Record<string, unknown>> =>
  gen().map((draw) => randomObject({ below: (bound) => draw(numberBelow, bound) }, schema));

const numberBelow = (bound: number): Arbitrary<number> => nat(bound - 1);
