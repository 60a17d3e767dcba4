import { expect, test } from '@jest/globals';
import { type Case, cases, failureOf, needsMessages } from './conformance.ts';

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
] as const;

/** Kubernetes has the functions of text in an earlier version, and its CEL finds no field in what has none at all. */
const differentInKubernetes: ReadonlySet<string> = new Set([
  'format/scientific notation formatting clause',
  'format/scientific notation formatting clause in a string variable',
  'format/default precision for scientific notation',
  'format/NaN support for scientific notation',
  'format/positive infinity support for scientific notation',
  'format/negative infinity support for scientific notation',
  'format/NaN support for decimal',
  'format/positive infinity support for decimal',
  'format/negative infinity support for decimal',
  'format/positive infinity support for fixed-point',
  'format/negative infinity support for fixed-point',
  'format/list support for string',
  'format/map support for string',
  'format/map support (all key types)',
  'format/dyntype support for scientific notation',
  'format/dyntype NaN/infinity support',
  'format/dyntype support for lists',
  'format/dyntype support for maps',
  'value_errors/indexof_out_of_range',
  'value_errors/lastindexof_out_of_range',
  'optionals/map_null_entry_no_such_key',
  'optionals/map_present_key_invalid_field',
]);

test.each(sections)('all public cases of %s hold, and there are %d', (section, count) => {
  const own = cases.filter((of) => of.section === section && !needsMessages(of));
  expect(own).toHaveLength(count);
  const [different, same] = [true, false].map((isDifferent) =>
    own.filter(({ name }) => differentInKubernetes.has(name) === isDifferent),
  ) as [Case[], Case[]];
  expect(same.flatMap((of) => failureOf(of)?.concat(` (${of.name}: ${of.expr})`) ?? [])).toEqual([]);
  expect(different.filter((of) => failureOf(of) === undefined)).toEqual([]);
});

test('types are deduced as in the public conformance cases that declare no functions', () => {
  const own = cases.filter(
    (of) =>
      of.section === 'type_deductions' &&
      !needsMessages(of) &&
      !of.typeEnv?.some((declaration) => 'function' in declaration),
  );
  expect(own.length).toBeGreaterThan(20);
  expect(own.flatMap((of) => failureOf(of)?.concat(` (${of.name}: ${of.expr})`) ?? [])).toEqual([]);
});
