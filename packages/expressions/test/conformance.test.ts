import { expect, test } from '@jest/globals';
import { cases, failureOf, needsMessages } from './conformance.ts';

/** Sections of which everything holds that needs no protocol buffers; docs/decisions/0012-expressions.md counts them. */
const sections = [
  ['basic', 43],
  ['comparisons', 334],
  ['conversions', 109],
  ['fields', 60],
  ['fp_math', 30],
  ['integer_math', 64],
  ['lists', 39],
  ['logic', 30],
  ['macros', 44],
  ['namespace', 3],
  ['parse', 193],
  ['plumbing', 5],
  ['string', 51],
  ['timestamps', 75],
  ['string_ext', 206],
  ['optionals', 59],
  ['macros2', 46],
  ['bindings_ext', 5],
  ['encoders_ext', 4],
] as const;

test.each(sections)('all public cases of %s hold, and there are %d', (section, count) => {
  const own = cases.filter((of) => of.section === section && !needsMessages(of));
  expect(own).toHaveLength(count);
  expect(own.flatMap((of) => failureOf(of)?.concat(` (${of.name}: ${of.expr})`) ?? [])).toEqual([]);
});

test('types are deduced as the public cases say, where they declare no functions of their own', () => {
  const own = cases.filter(
    (of) =>
      of.section === 'type_deductions' &&
      !needsMessages(of) &&
      !of.typeEnv?.some((declaration) => 'function' in declaration),
  );
  expect(own.length).toBeGreaterThan(20);
  expect(own.flatMap((of) => failureOf(of)?.concat(` (${of.name}: ${of.expr})`) ?? [])).toEqual([]);
});
