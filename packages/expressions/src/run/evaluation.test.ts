import { runSync, type SyncTask } from '@cluster-apiserver/base';
import { type AccessDecision, type AccessAttributes, StatusError } from '@cluster-apiserver/model';
import { describe, expect, test } from '@jest/globals';
import {
  createAdmissionEnvironment,
  createAdmissionValues,
  Budget,
  BudgetExceededError,
  compileIn,
  compileVariables,
  Evaluation,
  EvaluationError,
  type Expression,
  type Value,
  withVariables,
} from '../index.ts';

type Decide = (attributes: AccessAttributes) => AccessDecision | Promise<AccessDecision>;
const allow: Decide = () => ({ verdict: 'allow' });

interface Policy {
  readonly total?: Budget;
  readonly object?: object;
  readonly written?: Readonly<Record<string, string>>;
  readonly authorize?: Decide;
}

const environment = createAdmissionEnvironment({ hasAuthorizer: true });

function policy({ object = {}, written = {}, authorize = allow, total }: Policy = {}) {
  const all = Object.entries(written).map(([name, expression]) => ({ name, expression }));
  const { variables, faults } = runSync(compileVariables(environment, all));
  expect([...faults]).toEqual([]);
  const user = { name: 'alice', groups: ['dev'] };
  const requestResource = { group: 'g', resource: 'things', namespace: 'ns' };
  const values = createAdmissionValues({
    object,
    oldObject: null,
    request: {},
    namespaceObject: null,
    authorizer: { authorize, user, requestResource },
  });
  const evaluation = new Evaluation(values, variables, total);
  const expressionOf = (text: string): Expression => {
    const compiled = compileIn(withVariables(environment, variables), text);
    if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
    return compiled.expression;
  };
  return {
    start: (text: string) => evaluation.evaluate(expressionOf(text)),
    value: (text: string): Value => runSync(evaluation.evaluate(expressionOf(text)) as SyncTask<Value>),
  };
}

describe('variables', () => {
  test('are evaluated lazily, once for all expressions', () => {
    let asked = 0;
    const { value } = policy({
      written: {
        may: 'authorizer.path("/x").check("get").allowed()',
        never: 'authorizer.path("/y").check("get").allowed()',
      },
      authorize: ({ path }) => {
        if (path === '/y') throw new Error('asked in vain');
        asked++;
        return { verdict: 'allow' };
      },
    });
    expect(value('true || variables.never')).toBe(true);
    expect([value('variables.may && variables.may'), value('[1, 2].all(i, variables.may)')]).toEqual([true, true]);
    expect(asked).toBe(1);
  });

  test('that fail are an error only where they are read', () => {
    const { value } = policy({ written: { x: 'object.nothing', y: 'variables.x + 1' } });
    expect(value('variables.x == 1 || true')).toBe(true);
    for (const _ of ['the first time', 'and again'])
      expect(() => value('variables.y == 1')).toThrow(
        'composited variable "y" fails to evaluate: composited variable "x" fails to evaluate: no such key: nothing',
      );
  });

  test('that cost too much are an ordinary error', () => {
    const loop = 'lists.range(1000).all(a, lists.range(1000).all(b, true))';
    const { value } = policy({ written: { loop } });
    expect(value('variables.loop || true')).toBe(true);
    expect(() => value('variables.loop')).toThrow(
      '"loop" fails to evaluate: operation cancelled: actual cost limit exceeded',
    );
  });

  test('that are redefined in terms of themselves do not recurse for ever', () => {
    const written = ['1', 'variables.x + 1'].map((expression) => ({ name: 'x', expression }));
    const { variables } = runSync(compileVariables(environment, written));
    const compiled = compileIn(withVariables(environment, variables), 'variables.x');
    if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
    const evaluation = new Evaluation(new Map(), variables);
    expect(() => evaluation.evaluate(compiled.expression).next()).toThrow('reads itself');
  });
});

describe('deep nesting', () => {
  const chain = (length: number): Record<string, string> =>
    Object.fromEntries([
      ['x0', '1'],
      ...Array.from({ length }, (_, index) => [`x${index + 1}`, `variables.x${index} + 1`]),
    ]) as Record<string, string>;

  test('chained variables are evaluated as far as the stack allows', () => {
    expect(policy({ written: chain(100) }).value('variables.x100')).toBe(101n);
    expect(() => policy({ written: chain(2000) }).value('variables.x2000')).toThrow(EvaluationError);
  });

  test('an endlessly nested object is an error where it is accessed', () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(5000)}[]${'}'.repeat(5000)}`);
    const lists: unknown = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`);
    const { value } = policy({ object: { deep, lists, name: 'a' } });
    expect(value('object.name == "a"')).toBe(true);
    for (const text of [
      'object == object',
      'object.deep in [object.deep]',
      'object.lists == []',
      '"%s".format([object.deep])',
    ])
      expect(() => value(text)).toThrow('nested deeper than 200 levels');
  });
});

describe('the authorizer', () => {
  test('that answers synchronously keeps the evaluation synchronous', () => {
    const first = policy().start('authorizer.path("/x").check("get").allowed()').next();
    expect(first).toEqual({ done: true, value: true });
  });

  test('that answers later is awaited, and called once per attributes', async () => {
    const questions: string[] = [];
    const { start } = policy({
      authorize: async ({ verb }) => {
        questions.push(verb);
        return { verdict: verb === 'get' ? 'allow' : 'deny' };
      },
    });
    for (const text of [
      '["get", "list"].map(v, authorizer.path("/x").check(v).allowed()) == [true, false]',
      'authorizer.path("/x").check("get").allowed()',
    ]) {
      const work = start(text);
      let at = work.next();
      while (!at.done) at = work.next(await at.value);
      expect(at.value).toBe(true);
    }
    expect(questions).toEqual(['get', 'list']);
  });

  test('gets all the given attributes', () => {
    let asked: AccessAttributes | undefined;
    const { value } = policy({
      authorize: (attributes) => {
        asked = attributes;
        return { verdict: 'noOpinion', reason: 'why', error: new Error('broken') };
      },
    });
    const check =
      'authorizer.serviceAccount("ns", "sa").group("apps").resource("deployments").subresource("scale").namespace("n").name("x").fieldSelector("a=b").labelSelector("c in (d)").check("get")';
    expect(value(`${check}.reason() + ${check}.error()`)).toBe('whybroken');
    expect(asked).toEqual({
      user: { name: 'system:serviceaccount:ns:sa', groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'] },
      verb: 'get',
      path: '',
      resource: {
        group: 'apps',
        version: '*',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'x',
        fieldSelector: { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
        labelSelector: { requirements: [{ key: 'c', operator: 'In', values: ['d'] }] },
      },
    });
  });

  test('that is not ready yet ends the request', () => {
    const { value } = policy({ authorize: () => ({ verdict: 'notReady' }) });
    expect(() => value('authorizer.path("/x").check("get").allowed() || true')).toThrow(StatusError);
  });

  test('whose answer never comes fails the evaluation with its error', async () => {
    const work = policy({ authorize: () => Promise.reject(new Error('connection lost')) }).start(
      'authorizer.path("/x").check("get").allowed() || true',
    );
    await expect(work.next().value).rejects.toThrow('connection lost');
  });
});

describe('long evaluations', () => {
  const large = {
    list: Array.from({ length: 20_000 }, (_, index) => ({ name: `n${index}`, ports: [index, index + 1] })),
  };

  test.each([
    ['loops in loops', 'lists.range(100).all(a, lists.range(150).all(b, a + b >= 0))', true],
    ['a comparison of large objects', 'object == object', true],
    ['a comparison in a loop', '[1, 2].all(i, object.list == object.list)', true],
    [
      'costly calls one after the other',
      `${Array.from({ length: 11 }, () => 'object.list.indexOf(1) < 0').join(' && ')} || true`,
      true,
    ],
    ['a loop in a variable', 'variables.long && variables.long', true],
  ])('%s: gives others their turns', (_, text, expected) => {
    const work = policy({ object: large, written: { long: 'lists.range(20000).all(a, a >= 0)' } }).start(text);
    let turns = 1;
    let at = work.next();
    for (; !at.done; at = work.next()) turns++;
    expect(at.value).toBe(expected);
    expect(turns).toBeGreaterThan(9);
  });

  test('cheap expressions share one event-loop iteration', () => {
    const { start } = policy({ object: large });
    for (const text of ['object.list[0].name == "n0"', 'object.list.size() == 20000', 'true'])
      expect(start(text).next()).toEqual({ done: true, value: true });
  });

  test('exceeding the cost limit of one expression is an error, exceeding the total ends the evaluation', () => {
    const total = new Budget(600_000);
    const { value } = policy({ total });
    const loop = 'lists.range(1000).all(a, lists.range(1000).all(b, true))';
    expect(() => value(loop)).toThrow(EvaluationError);
    expect(() => value(loop)).toThrow('operation cancelled: actual cost limit exceeded');
    expect(() => value(loop)).toThrow(BudgetExceededError);
    expect(() => value('true')).toThrow('running out of cost budget');
  });
});
