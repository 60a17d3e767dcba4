import { expect, test } from '@jest/globals';
import { ConfigurationError, loadAbacPolicies } from './index.ts';

const line = (spec: unknown, part: object = {}): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec, ...part });

const nothing = {
  user: '',
  group: '',
  namespace: '',
  resource: '',
  apiGroup: '',
  nonResourcePath: '',
  readonly: false,
};

test('each line is a policy; empty lines and comments are skipped', () => {
  const text = `# people\n${line({ user: 'ann', resource: '*' })}\n\n  ${line({ group: 'g', readonly: true })}\r\n # end`;
  expect(loadAbacPolicies(text)).toEqual([
    { ...nothing, user: 'ann', resource: '*' },
    { ...nothing, group: 'g', readonly: true },
  ]);
  expect(loadAbacPolicies('# none yet')).toEqual([]);
  expect(() => loadAbacPolicies(' \n')).toThrow('the file is empty');
});

test.each([
  ['no JSON', '{"hush', 'line 1: expected a policy as JSON'],
  ['null', 'null', 'line 1: expected a policy as JSON'],
  ['another form', '[]', 'line 1: expected an object, got a list'],
  [
    'no version',
    line({}, { apiVersion: undefined }),
    'line 1.apiVersion: expected abac.authorization.kubernetes.io/v1beta1',
  ],
  ['another kind', line({}, { kind: 'Role' }), 'line 1.kind: expected Policy'],
  ['no spec', line(undefined), 'line 1.spec: Required value'],
  ['a field that would have narrowed it', line({ user: 'a', readOnly: true }), 'line 1.spec: unknown field "readOnly"'],
  ['a list of users', line({ user: ['a'] }), 'line 1.spec.user: expected a string, got a list'],
  ['a switch that is none', line({ readonly: 'yes' }), 'line 1.spec.readonly: expected true or false, got a string'],
])('rejects a file with %s', (_, text, problem) => {
  const load = (): unknown => loadAbacPolicies(text);
  expect(load).toThrow(ConfigurationError);
  expect(load).toThrow(problem);
  expect(load).not.toThrow(/hush/);
});

test('a file of bad lines is read until a hundred problems are known', () => {
  const lines = Array.from({ length: 9_999 }, () => 'user: ann');
  const problems = ((): readonly string[] => {
    try {
      loadAbacPolicies(lines.join('\n'));
      return [];
    } catch (error) {
      return (error as ConfigurationError).faults;
    }
  })();
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe('line 100 and above have 100 problems; the rest was not read');
});

test('reports all problems at once, and rejects a file with too many policies', () => {
  expect(() => loadAbacPolicies(`x\n${line({})}\n${line({ users: 1 })}`)).toThrow(/^line 1: .*\nline 3\.spec: unknown/);
  expect(() => loadAbacPolicies(`${line({ user: 'a' })}\n`.repeat(10_001))).toThrow('Too many: 10001');
});
