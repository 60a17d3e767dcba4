import { expect, test } from '@jest/globals';
import { formatPath, Problems } from '../problems.ts';
import { type LabelSelectorField, validateLabelSelector } from './label-selector.ts';

function problemsOf(selector: LabelSelectorField): Problems {
  const problems = new Problems();
  validateLabelSelector(selector, problems.at('s'));
  return problems;
}
const errorsOf = (selector: LabelSelectorField): string[] =>
  problemsOf(selector).errors.map(({ path, reason }) => `${formatPath(path)} ${reason.slice('FieldValue'.length)}`);
const long = 'x'.repeat(64);

test.each<[string, LabelSelectorField, readonly string[]]>([
  ['without conditions', {}, []],
  ['by labels', { matchLabels: { 'a.b/c': 'd', e: '' } }, []],
  ['by a key that no label has', { matchLabels: { 'a b': 'c', '': 'd' } }, Array(3).fill('s.matchLabels Invalid')],
  [
    'by a value that no label has',
    { matchLabels: { a: '-', b: long } },
    ['s.matchLabels Invalid', 's.matchLabels Invalid'],
  ],
])('a selector %s', (_, selector, wrong) => {
  expect(errorsOf(selector)).toEqual(wrong);
});

test.each<[string, string, string, readonly string[] | undefined, readonly string[]]>([
  ['In with values', 'a', 'In', ['x', ''], []],
  ['NotIn with a value', 'a', 'NotIn', ['x'], []],
  ['Exists', 'a.b/c', 'Exists', undefined, []],
  ['DoesNotExist', 'a', 'DoesNotExist', [], []],
  ['In without values', 'a', 'In', undefined, ['values Required']],
  ['NotIn with no values', 'a', 'NotIn', [], ['values Required']],
  ['Exists with a value', 'a', 'Exists', ['x'], ['values Forbidden']],
  ['DoesNotExist with a value', 'a', 'DoesNotExist', ['x'], ['values Forbidden']],
  ['an operator of queries', 'a', '=', ['x'], ['operator Invalid']],
  ['no operator and no key', '', '', [], ['operator Invalid', 'key Invalid', 'key Invalid']],
  ['a wrong key', 'a/', 'Exists', [], ['key Invalid', 'key Invalid']],
  ['a wrong value', 'a', 'In', ['x', '_'], ['values[1] Invalid']],
])('a requirement by %s', (_, key, operator, values, wrong) => {
  const matchExpressions = [
    { key: 'k', operator: 'Exists' },
    { key, operator, ...(values && { values: [...values] }) },
  ];
  expect(errorsOf({ matchExpressions })).toEqual(wrong.map((error) => `s.matchExpressions[1].${error}`));
});

test('errors beyond a bound are counted', () => {
  const matchExpressions = Array.from({ length: 300 }, () => ({ key: 'k', operator: 'Like' }));
  const { errors, count } = problemsOf({ matchExpressions });
  expect([errors.length, count]).toEqual([100, 300]);
});
