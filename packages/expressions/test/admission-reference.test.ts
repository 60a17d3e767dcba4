import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { type AdmissionAnswer, answer, answerInTurns, answers } from './admission-reference.ts';

/** Where this package answers otherwise, and why. */
const differences: readonly (readonly [why: string, expressions: readonly string[]])[] = [
  ['a map is walked over in its own order', ['object.metadata.map(x, x)', 'params.map(x, x)']],
  [
    'faults have other words',
    [
      'uint(-1)',
      "int('a')",
      'int(1e300)',
      "double('x')",
      "timestamp('x')",
      "duration('x')",
      "[JSONPatch{op: 1, path: '/a'}]",
      "[JSONPatch{op: 'add', wrong: 1}]",
      "JSONPatch{op: 'add'}.wrong",
    ],
  ],
  [
    'errors have other words',
    [
      "object.spec.ports.transformMapEntry(i, p, {'same': p.number})",
      'object.spec.ints.distinct()',
      'ip(object.spec.text)',
      'url(object.spec.text)',
      'semver(object.spec.text)',
      'semver(object.spec.image)',
      "'a'.matches(object.spec.text + '(')",
      "[JSONPatch{op: dyn(1), path: '/a'}]",
      "[JSONPatch{op: 'add', path: object.spec.size}]",
    ],
  ],
  [
    'names may be quoted',
    [
      'object.spec.`dashed-name`',
      'object.metadata.labels.`x.io/y`',
      'Object{`dashed-name`: 1}',
      'Object{spec: Object.spec{`dashed-name`: 1}}',
    ],
  ],
  [
    'constants are not evaluated when they are compiled',
    [
      'int(dyn([1]))',
      'string(dyn([1]))',
      'string(dyn({}))',
      'string(dyn(null))',
      'bool(dyn(1))',
      'timestamp(dyn(true))',
      'duration(dyn(1.5))',
      'bytes(dyn(1))',
    ],
  ],
  ['there are no protocol buffers', ['google.protobuf.Timestamp{}', 'kubernetes.Namespace{}']],
  ['what cannot be compared cannot be looked for', ["quantity('1') in object.spec.tags", 'authorizer in [authorizer]']],
  ['the variables are a map like others', ["'x' in dyn(variables)", 'dyn(variables).map(k, k)', 'type(variables)']],
  [
    'null, durations, large numbers and objects in lists are written as JSON, and what has no JSON is an error',
    [
      "Object{spec: Object.spec{ports: [{'name': 'p'}]}}",
      "Object{a: 1, b: 1u, c: 1.5, d: 'x', e: true, f: null, g: [1], h: {'a': 1}}",
      "Object{a: duration('90m')}",
      'Object{a: type(1)}',
      "Object{a: quantity('1')}",
      'Object{a: optional.none()}',
      'Object{a: object.spec.none}',
      "Object{a: {1: 'x'}}",
      "Object{a: {true: 'x'}}",
      'Object{a: authorizer}',
      "[JSONPatch{op: 'add', path: '/a', value: quantity('1')}]",
      "[JSONPatch{op: 'add', path: '/a', value: ip('1.2.3.4')}]",
      "[JSONPatch{op: 'add', path: '/a', value: 9007199254740993}]",
    ],
  ],
  [
    'the types of constructed objects are no values',
    [
      'type(Object{})',
      'type(Object{}) == Object',
      'type(Object.a{}) == Object.a',
      'Object',
      'Object.spec',
      'JSONPatch',
      'Object.metadata',
      'object{}',
      'type(JSONPatch{})',
    ],
  ],
  [
    'objects of a kind cannot be made, and the resource of the request is known when types are checked',
    ["authorizer.requestResource.check('x').allowed()", 'Widget{}', 'Widget'],
  ],
];
const different = new Set(differences.flatMap(([, expressions]) => expressions));

/** The message about a mutation without JSON has other words. */
const comparable = ({ refused, type, value, error, json, jsonError }: Partial<AdmissionAnswer>): object => ({
  ...{ refused, type, value, error, json },
  isJson: jsonError === undefined,
});
const mine = new Map(answers.map((row) => [row, answer(row)]));
const answerTo = (row: AdmissionAnswer): Partial<AdmissionAnswer> => mine.get(row) ?? {};
const isSame = (row: AdmissionAnswer): boolean => isDeepStrictEqual(comparable(answerTo(row)), comparable(row));

describe('expressions of admission policies are accepted, typed and evaluated as by kube-apiserver 1.36, in the same words', () => {
  test('of many', () => {
    expect(answers.length).toBeGreaterThan(4000);
  });

  test('all of them except those listed here', () => {
    const wrong = answers.filter((row) => !different.has(row.expr) && !isSame(row));
    expect(wrong.map((row) => [row, answerTo(row)])).toEqual([]);
  });

  test.each(differences)('except that %s', (_, expressions) => {
    for (const expr of expressions) {
      const rows = answers.filter((row) => row.expr === expr);
      expect([expr, rows.length > 0 && rows.every(isSame)]).toEqual([expr, false]);
    }
  });

  test('the same clear cases exceed the cost limit there and here', () => {
    const exceeded = 'operation cancelled: actual cost limit exceeded';
    const isExceeded = ({ error }: Partial<AdmissionAnswer>): boolean => error?.includes(exceeded) === true;
    const clear = answers.filter((row) => isExceeded(row) || (row.cost ?? 0) < 100_000);
    expect(clear.filter((row) => isExceeded(answerTo(row)) !== isExceeded(row)).map(({ expr }) => expr)).toEqual([]);
  });

  /** A turn of one step interrupts every loop in every round, and every costly call. */
  test.each([{ answersLater: true }, { answersLater: false, turnSteps: 1 }, { answersLater: true, turnSteps: 7 }])(
    'neither value nor cost depends on when it is interrupted: %j',
    async (conditions) => {
      const walked = answers.filter(({ expr, cost = 0 }) => cost < 5_000 && /\(\w+, |check\(/.test(expr));
      const asked = answers.filter(({ expr, error }) => error === undefined && expr.includes('check('));
      const wrong: unknown[] = [];
      let interrupted = 0;
      for (const row of [...walked, ...asked]) {
        const { outcome, interruptions } = await answerInTurns(row, conditions);
        if (!isDeepStrictEqual(outcome, answerTo(row))) wrong.push([row.expr, outcome, answerTo(row)]);
        if (interruptions > 0) interrupted++;
      }
      expect(wrong).toEqual([]);
      expect(interrupted).toBeGreaterThan(30);
    },
  );
});
