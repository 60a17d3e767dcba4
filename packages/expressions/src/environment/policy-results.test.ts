import { runSync } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { widget } from '../../test/widget.ts';
import {
  createAdmissionEnvironment,
  compileIn,
  compileTyped,
  compileVariables,
  type Environment,
  isIdentifier,
  policyResults,
  typeOfKind,
  withVariables,
  type VariableDeclaration,
} from '../index.ts';

const policy = createAdmissionEnvironment({ hasParams: true, hasAuthorizer: true });
const message = createAdmissionEnvironment({ hasParams: true });
const mutation = createAdmissionEnvironment({ hasAuthorizer: true, hasPatchTypes: true });

function faultOf(environment: Environment, text: string, result: keyof typeof policyResults): string | undefined {
  const compiled = compileTyped(environment, text, policyResults[result]);
  return 'fault' in compiled ? compiled.fault : undefined;
}

describe('an expression of a policy', () => {
  test.each([
    [policy, '1 + 1', 'condition', 'must evaluate to bool but got int'],
    [policy, '"x"', 'condition', 'must evaluate to bool but got string'],
    [policy, 'object.on', 'condition', 'must evaluate to bool but got dyn'],
    [
      policy,
      'timestamp("2026-01-01T00:00:00Z")',
      'condition',
      'must evaluate to bool but got google.protobuf.Timestamp',
    ],
    [
      policy,
      'thing == 1',
      'condition',
      "compilation failed: ERROR: <input>:1:1: undeclared reference to 'thing' (in container '')\n | thing == 1\n | ^",
    ],
    [
      policy,
      'request.nothing ==',
      'condition',
      "compilation failed: ERROR: <input>:1:19: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | request.nothing ==\n | ..................^",
    ],
    [message, 'object.metadata.name', 'message', 'must evaluate to string but got dyn'],
    [policy, '1', 'auditAnnotation', 'must evaluate to one of [string null_type] but got int'],
    [mutation, '[]', 'jsonPatch', 'must evaluate to list(JSONPatch) but got list(dyn)'],
    [mutation, 'Object.spec{}', 'applyConfiguration', 'must evaluate to Object but got Object.spec'],
    [policy, 'null', 'auditAnnotation', undefined],
    [mutation, '[JSONPatch{op: "remove", path: "/a"}]', 'jsonPatch', undefined],
    [mutation, 'has(object.a) ? Object{a: 1} : Object{}', 'applyConfiguration', undefined],
  ] as const)('%#: %s %s as %s: %s', (environment, text, result, fault) => {
    expect(faultOf(environment, text, result)).toBe(fault);
  });

  test.each([
    [message, 'authorizer.path("/x").check("get").reason()', 'message'],
    [policy, 'Object{} == null', 'condition'],
    [policy, 'jsonpatch.escapeKey("a") == "a"', 'condition'],
    [createAdmissionEnvironment({}), 'params == null', 'condition'],
  ] as const)('%#: cannot use what its environment does not have: %s %s', (environment, text, result) => {
    expect(faultOf(environment, text, result)).toContain('undeclared reference');
  });

  test('is not refused for its comprehensions', () => {
    const tens = '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]';
    const loops = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].reduceRight(
      (body, name) => `${tens}.all(${name}, ${body})`,
      'true',
    );
    expect(faultOf(policy, loops, 'condition')).toBeUndefined();
  });
});

describe('variables', () => {
  const compiled = (written: readonly VariableDeclaration[]) => runSync(compileVariables(policy, written));

  test('have the types of their expressions and can be read by later ones', () => {
    const { variables, faults } = compiled([
      { name: 'l', expression: '["a"]' },
      { name: 'n', expression: 'variables.l.size()' },
      { name: 'o', expression: 'request.userInfo' },
    ]);
    expect([...faults]).toEqual([]);
    expect(
      faultOf(withVariables(policy, variables), 'variables.n > 1 && variables.l[0] == "a"', 'condition'),
    ).toBeUndefined();
    expect(faultOf(withVariables(policy, variables), 'variables.n == "a"', 'condition')).toContain("'(int, string)'");
    expect(faultOf(withVariables(policy, variables), 'variables.o.anything == 1', 'condition')).toBeUndefined();
    expect(faultOf(withVariables(policy, variables), 'variables.m == 1', 'condition')).toContain("undefined field 'm'");
  });

  test('that do not compile are reported with their index and cause no further errors', () => {
    const { faults } = compiled([
      { name: 'a', expression: '1 +' },
      { name: 'b', expression: 'variables.a + 1' },
      { name: 'c', expression: 'variables.d' },
    ]);
    expect([...faults.keys()]).toEqual([0, 2]);
    expect(faults.get(2)).toContain("undefined field 'd'");
  });

  test.each([
    ['a', true],
    ['_a1', true],
    ['', false],
    ['1a', false],
    ['a-b', false],
    ['namespace', false],
    ['true', false],
  ])('called %j: %s', (name, expected) => {
    expect(isIdentifier(name)).toBe(expected);
  });
});

test('a check over one kind finds fields that it does not have', () => {
  const typed = createAdmissionEnvironment({ objectType: typeOfKind('Widget', widget.schema) });
  const compiled = compileIn(typed, 'object.spec.size > 1 && object.spec.colour == "red" && object.metadata.name == 1');
  expect('faults' in compiled && compiled.faults.map((fault) => fault.split('\n')[0])).toEqual([
    "ERROR: <input>:1:36: undefined field 'colour'",
    "ERROR: <input>:1:77: found no matching overload for '_==_' applied to '(string, int)'",
  ]);
});
