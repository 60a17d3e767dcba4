import { expect, test } from '@jest/globals';
import { formatPath, Problems } from '@cluster-apiserver/model';
import type { JsonSchema, ValidationRule } from '../schema/json-schema.ts';
import { validateRuleDeclarations } from './validate-declarations.ts';

const described: JsonSchema = {
  type: 'object',
  properties: {
    a: { type: 'object', properties: { b: { type: 'string' } } },
    m: { type: 'object', additionalProperties: { type: 'object', properties: { c: { type: 'string' } } } },
    'x.y/z': { type: 'string' },
    "it's": { type: 'string' },
    'x-y': { type: 'string' },
    l: { type: 'array', items: { type: 'string' } },
  },
};

function findProblems(rule: ValidationRule): readonly string[] {
  const problems = new Problems();
  validateRuleDeclarations({ ...described, 'x-kubernetes-validations': [rule] }, problems);
  return problems.errors.map(({ path, message }) => `${formatPath(path.slice(2))}: ${message}`);
}

test.each<[Partial<ValidationRule>, readonly string[]]>([
  [{ rule: 'true' }, []],
  [{ rule: '' }, ['rule: Required value: rule is not specified']],
  [{ rule: ' \n' }, ['rule: Required value: rule is not specified']],
  [{ message: 'm' }, ['rule: Required value: rule is not specified']],
  [{ rule: 'true', message: ' ' }, ['message: Invalid value: " ": must be non-empty if specified']],
  [{ rule: 'true', message: 'a\nb' }, ['message: Invalid value: "a\\nb": must not contain line breaks']],
  [{ rule: 'true', message: ' a\n' }, []],
  [{ rule: 'true ||\nfalse' }, ['message: Required value: message must be specified if rule contains line breaks']],
  [{ rule: 'true ||\nfalse', message: 'm' }, []],
  [
    { rule: 'true', messageExpression: ' ' },
    ['messageExpression: Required value: messageExpression must be non-empty if specified'],
  ],
  [{ rule: 'true', reason: 'FieldValueRequired' }, []],
  [
    { rule: 'true', reason: 'Whim' },
    [
      'reason: Unsupported value: "Whim": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
  ],
])('the declaration %j', (rule, problems) => {
  expect(findProblems({ rule: '', ...rule })).toEqual(problems);
});

test.each(['.a', '.a.b', ".a['b']", ".m['k'].c", '.m.k.c', "['x.y/z']", "['it\\'s']", '.x-y', '.l'])(
  'the path %s leads to a field',
  (fieldPath) => {
    expect(findProblems({ rule: 'true', fieldPath })).toEqual([]);
  },
);

test.each(['a', '.', '.a.', '.none', '.a.none', '.l[0]', ".l['a']", ".m['k'", ".m['k'].none"])(
  'the path %s leads to none',
  (fieldPath) => {
    expect(findProblems({ rule: 'true', fieldPath })).toEqual([
      `fieldPath: Invalid value: ${JSON.stringify(fieldPath)}: must be a valid path`,
    ]);
  },
);

test('a blank path and one of several lines are named as such', () => {
  expect(findProblems({ rule: 'true', fieldPath: ' ' })).toContain(
    'fieldPath: Invalid value: " ": must be non-empty if specified',
  );
  expect(findProblems({ rule: 'true', fieldPath: '.a\n.b' })).toContain(
    'fieldPath: Invalid value: ".a\\n.b": must not contain line breaks',
  );
});
