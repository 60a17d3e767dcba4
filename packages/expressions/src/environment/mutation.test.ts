import { runSync, type SyncTask } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import {
  createAdmissionEnvironment,
  createAdmissionValues,
  toApplyConfiguration,
  applyConfigurationType,
  BudgetExceededError,
  compileTyped,
  Evaluation,
  EvaluationError,
  toJsonPatch,
  jsonPatchType,
  types,
  type Value,
} from '../index.ts';

const environment = createAdmissionEnvironment({ hasPatchTypes: true });
const object = { metadata: { name: 'a' }, spec: { size: 3, ports: [{ name: 'http', number: 80 }] } };

function valueOf(text: string): Value {
  const compiled = compileTyped(environment, text, [applyConfigurationType, types.list(jsonPatchType)]);
  if ('fault' in compiled) throw new Error(compiled.fault);
  const values = createAdmissionValues({ object, oldObject: null, request: {}, namespaceObject: null });
  return runSync(new Evaluation(values).evaluate(compiled.expression) as SyncTask<Value>);
}

// A list of two that share their element, again and again: 2^40 values after 40 steps.
const doubling = `[1]${'.map(a, [a, a])'.repeat(40)}`;
const wide = `lists.range(2000).map(i, Object.wrong{})`;

test.each([`Object{spec: Object.spec{sizes: ${doubling}}}`, `Object{spec: Object.spec{sizes: [${doubling}]}}`])(
  'an apply configuration of shared values is bounded: %#',
  (text) => {
    expect(() => toApplyConfiguration(valueOf(text))).toThrow(BudgetExceededError);
  },
);

test('a JSON patch of shared values is bounded, all its operations together', () => {
  const operation = (value: string): string => `JSONPatch{op: "add", path: "/a", value: ${value}}`;
  expect(() => toJsonPatch(valueOf(`[${operation(doubling)}]`))).toThrow(BudgetExceededError);
  const half = `[1]${'.map(a, [a, a])'.repeat(16)}`;
  expect(toJsonPatch(valueOf(`[${operation(half)}]`))).toHaveLength(1);
  expect(() => toJsonPatch(valueOf(`[${Array.from({ length: 4 }, () => operation(half)).join(',')}]`))).toThrow(
    BudgetExceededError,
  );
});

test('a message names no more than 100 wrong types', () => {
  expect(() => toApplyConfiguration(valueOf(`Object{spec: Object.spec{ports: ${wide}}}`))).toThrow(
    /^type mismatch: (unexpected [^\n]*\n?){100}$/,
  );
});

describe('an apply configuration', () => {
  test.each([
    ['Object{}', {}],
    ['Object{spec: Object.spec{size: object.spec.size + 1}}', { spec: { size: 4 } }],
    ['Object{spec: Object.spec{?size: object.spec.?nothing}}', { spec: {} }],
    [
      'Object{spec: Object.spec{ports: object.spec.ports.map(p, Object.spec.ports{name: p.name, number: 1})}}',
      { spec: { ports: [{ name: 'http', number: 1 }] } },
    ],
    [
      'Object{metadata: Object.metadata{annotations: {"__proto__": "x"}}}',
      JSON.parse('{"metadata":{"annotations":{"__proto__":"x"}}}'),
    ],
  ])('%s is JSON of what it names', (text, json) => {
    expect(JSON.stringify(toApplyConfiguration(valueOf(text)))).toBe(JSON.stringify(json));
  });

  test.each([
    ['Object{spec: Object.status{}}', 'type mismatch: unexpected type name "Object.status", expected "Object.spec"'],
    ['Object{a: double("NaN")}', 'NaN is no JSON'],
    ['Object{a: {1: 2}}', 'keys that are no strings'],
    ['Object{a: quantity("1")}', 'kubernetes.Quantity is no JSON'],
  ])('%s is an error of the expression: %s', (text, message) => {
    expect(() => toApplyConfiguration(valueOf(text))).toThrow(EvaluationError);
    expect(() => toApplyConfiguration(valueOf(text))).toThrow(message);
  });
});

describe('a JSON patch', () => {
  test('has exactly what its operations were given', () => {
    const text =
      '[JSONPatch{op: "add", path: "/a", value: {"b": [dyn(1), dyn(null), dyn(1.5), object.spec.ports]}}, JSONPatch{op: "move", from: "/a", path: "/b"}, JSONPatch{op: "remove", path: "/c"}]';
    expect(toJsonPatch(valueOf(text))).toEqual([
      { op: 'add', path: '/a', value: { b: [1, null, 1.5, [{ name: 'http', number: 80 }]] } },
      { op: 'move', from: '/a', path: '/b' },
      { op: 'remove', path: '/c' },
    ]);
  });

  test('may add typed objects, also in lists', () => {
    expect(toJsonPatch(valueOf('[JSONPatch{op: "add", path: "/a", value: [Object.spec.ports{name: "x"}]}]'))).toEqual([
      { op: 'add', path: '/a', value: [{ name: 'x' }] },
    ]);
  });

  test('keeps the precision of large integers', () => {
    const patch = toJsonPatch(valueOf('[JSONPatch{op: "add", path: "/a", value: 9007199254740993}]'));
    expect(JSON.stringify(patch)).toContain('9007199254740993');
  });
});
