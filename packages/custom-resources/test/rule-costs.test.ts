/** Estimated and actual costs of rules, as computed by kube-apiserver's own packages. */
import { describe, expect, test } from '@jest/globals';
import { requireValue, runSync } from '@cluster-apiserver/base';
import { compileRuleExpression, declareRuleTypes, evaluateRule, TypedValues } from '@cluster-apiserver/expressions';
import type { Schema } from '@cluster-apiserver/model/schema';
import { compileSchema } from '../src/schema/compile-schema.ts';
import type { JsonSchema } from '../src/schema/json-schema.ts';
import recorded from './rule-costs.json' with { type: 'json' };

interface Recorded {
  readonly rule: string;
  /** By a schema that bounds all sizes, and by one that bounds none; null for a cost beyond all bounds. */
  readonly bounded: number | null;
  readonly unbounded: number | null;
  readonly actual: number;
  readonly result: string;
}
const rules: readonly Recorded[] = recorded.rules;

/** As a field, which is no root of a resource. */
const compileField = (schema: JsonSchema): Schema =>
  requireValue(
    runSync(compileSchema({ type: 'object', properties: { field: schema } })).fields.get('field'),
    'the field was declared',
  ).schema;

const schemas = { bounded: compileField(recorded.bounded), unbounded: compileField(recorded.unbounded) };

function compile(rule: string, schema: Schema) {
  const self = requireValue(declareRuleTypes().declare('selfType', schema), 'an object has a type');
  const compiled = runSync(compileRuleExpression(rule, 'bool', self, false));
  if (!('expression' in compiled)) throw new Error(`${rule} does not compile`);
  return compiled;
}

/** Beyond it a cost is as good as infinite. */
const costMax = 1e15;

describe.each(['bounded', 'unbounded'] as const)('the estimated cost by a schema that is %s', (bounds) => {
  test.each(rules)('of $rule', (row) => {
    const { costMax: cost } = compile(row.rule, schemas[bounds]);
    expect(cost < costMax ? cost : null).toBe(row[bounds]);
  });
});

describe('the actual cost', () => {
  // What an error costs upstream depends on where it is noticed.
  test.each(rules.filter(({ result }) => !result.startsWith('error')))('of $rule', ({ rule, actual, result }) => {
    const { expression } = compile(rule, schemas.bounded);
    const { object } = recorded;
    const schema = schemas.bounded;
    const subject = { values: new TypedValues(), schema, self: object, oldSelf: object, oldSelfIsOptional: false };
    const outcome = runSync(evaluateRule(expression, subject, { units: 1_000_000, steps: 1_000_000 }));
    expect([outcome.spent.units, String(outcome.value)]).toEqual([actual, result]);
  });
});
