import type { RuleExpression } from '@cluster-apiserver/expressions';
import type { Step } from '@cluster-apiserver/model';
import type { Schema } from '@cluster-apiserver/model/schema';
import type { ValidationRule } from '../schema/json-schema.ts';

/** The rules of a schema and of the schemas in it. */
export interface RuleNode {
  readonly schema: Schema;
  readonly rules: readonly CompiledRule[];
  readonly fields: ReadonlyMap<string, RuleNode>;
  /** Of the values of a map. */
  readonly rest: RuleNode | undefined;
  readonly items: RuleNode | undefined;
}

export interface CompiledRule {
  readonly declaration: ValidationRule;
  readonly condition: RuleExpression;
  readonly message: RuleExpression | undefined;
  /** From the value to the field that the rule is about. */
  readonly fieldPath: readonly Step[];
}
