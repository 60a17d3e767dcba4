import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { type Case, cases, failureOf, needsMessages } from './conformance.ts';

/** Sections of which everything holds that needs no protocol buffers; docs/decisions/0012-expressions.md and the README count them. */
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

/** The pages of the package and of the decision, which have a table of the sections. */
test.each(['packages/expressions/README.md', 'docs/decisions/0012-expressions.md'])('%s has these numbers', (page) => {
  const text = fs.readFileSync(path.resolve(import.meta.dirname, '../../..', page), 'utf8');
  const rows = Array.from(text.matchAll(/\| (\w+) \| (\d+) (?=\|)/g), ([, section, count]) => [section, Number(count)]);
  const counts = rows.filter(([section]) => section !== 'type_deductions');
  expect(Object.fromEntries(counts)).toEqual(Object.fromEntries(sections));
  expect(text).toMatch(new RegExp(`\\b${differentInKubernetes.size} (cases that fail|have another result on purpose)`));
});

test('the page of the package has the sum of the cases', () => {
  const text = fs.readFileSync(path.resolve(import.meta.dirname, '../README.md'), 'utf8');
  expect(text).toContain(`Of these ${sections.reduce((sum, [, count]) => sum + count, 0)} cases `);
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
