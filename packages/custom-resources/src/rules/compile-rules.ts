import type { SyncTask } from '@cluster-apiserver/base';
import {
  compileRuleExpression,
  type DeclaredType,
  declareRuleTypes,
  mapValues,
  requestBytesMax,
  type RuleExpression,
  ruleMember,
  type TypeDeclarations,
} from '@cluster-apiserver/expressions';
import { formatPath, type Problems, type Step } from '@cluster-apiserver/model';
import {
  isSharedList,
  type ListSchema,
  memberSchema,
  type ObjectSchema,
  type Schema,
} from '@cluster-apiserver/model/schema';
import { findFieldBy } from '../definition/field-path.ts';
import { schemasPerStep } from '../definition/schema-parts.ts';
import type { ValidationRule } from '../schema/json-schema.ts';
import { EstimatedCosts } from './costs.ts';
import type { CompiledRule, RuleNode } from './rule-node.ts';

/**
 * Compiles the rules of a structural schema, whose declarations are valid. What is wrong with their expressions is added to
 * the problems of the schema. Undefined if there are no rules. Rules around places that are refused are left out.
 */
export function* compileRules(
  root: ObjectSchema,
  problems: Problems,
  refused: readonly string[] = [],
): SyncTask<RuleNode | undefined> {
  if (!(yield* hasRules(root))) return undefined;
  const costs = new EstimatedCosts();
  const node = yield* new RuleCompiler(costs, refused).compile(root, {
    name: 'selfType',
    at: problems,
    timesMax: 1,
    list: undefined,
  });
  costs.finish(problems);
  return node;
}

function* hasRules(root: Schema): SyncTask<boolean> {
  const open = [root];
  for (let count = 1; ; count++) {
    const schema = open.pop();
    if (!schema) return false;
    if (schema.expressions) return true;
    if (count % schemasPerStep === 0) yield;
    if (schema.type === 'list') open.push(schema.items);
    if (schema.type !== 'object') continue;
    for (const field of schema.fields.values()) open.push(field.schema);
    if (schema.rest) open.push(schema.rest);
  }
}

/** Where a schema is in the whole one. */
interface Place {
  /** Of its type. */
  readonly name: string;
  readonly at: Problems;
  /** How often it may occur in an object; undefined if nothing bounds that. */
  readonly timesMax: number | undefined;
  /** The outermost list around it whose items are not matched with former ones. */
  readonly list: Problems | undefined;
}

class RuleCompiler {
  readonly #types: TypeDeclarations = declareRuleTypes();
  readonly #costs: EstimatedCosts;
  readonly #refused: readonly string[];

  constructor(costs: EstimatedCosts, refused: readonly string[]) {
    this.#costs = costs;
    this.#refused = refused;
  }

  *compile(schema: Schema, place: Place): SyncTask<RuleNode | undefined> {
    const inner = yield* this.#compileInner(schema, place);
    const type = this.#types.declare(place.name, schema);
    const rules = yield* this.#compileAll(schema, type, place);
    return rules.length > 0 || inner.fields.size > 0 || inner.rest || inner.items
      ? { schema, rules, ...inner }
      : undefined;
  }

  *#compileInner(schema: Schema, place: Place): SyncTask<Pick<RuleNode, 'fields' | 'rest' | 'items'>> {
    const fields = new Map<string, RuleNode>();
    if (schema.type === 'list') {
      const items = yield* this.compile(schema.items, itemsPlace(schema, place));
      return { fields, rest: undefined, items };
    }
    if (schema.type !== 'object') return { fields, rest: undefined, items: undefined };
    for (const name of schema.fields.keys()) {
      const member = ruleMember(schema, name);
      // Metadata of resources have no rules.
      if (!member || member !== memberSchema(schema, name)) continue;
      const node = yield* this.compile(member, {
        ...place,
        name: `${place.name}.${name}`,
        at: place.at.at('properties', { key: name }),
      });
      if (node) fields.set(name, node);
    }
    const { rest } = schema;
    return { fields, rest: rest && (yield* this.compile(rest, valuesPlace(schema, place))), items: undefined };
  }

  *#compileAll(schema: Schema, type: DeclaredType | undefined, place: Place): SyncTask<readonly CompiledRule[]> {
    const compiled: CompiledRule[] = [];
    const all = rulesOf(schema);
    if (all.length > 0 && this.#isAroundRefused(place.at)) return compiled;
    for (const [index, rule] of all.entries()) {
      const at = place.at.at('x-kubernetes-validations', index);
      if (!type) {
        at.report(
          'Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
        );
        return compiled;
      }
      const made = yield* this.#compileRule(schema, rule, type, { ...place, at });
      if (made) compiled.push(made);
      yield;
    }
    yield;
    return compiled;
  }

  #isAroundRefused({ path }: Problems): boolean {
    if (this.#refused.length === 0) return false;
    const around = formatPath(path);
    return this.#refused.some((place) => place.startsWith(around) && /^[.[]/.test(place.slice(around.length)));
  }

  *#compileRule(
    schema: Schema,
    rule: ValidationRule,
    type: DeclaredType,
    place: Place,
  ): SyncTask<CompiledRule | undefined> {
    const { at, list } = place;
    const condition = yield* compileRuleExpression(rule.rule, 'bool', type, rule.optionalOldSelf === true);
    const readsOldSelf = 'expression' in condition && condition.readsOldSelf;
    if (!('expression' in condition)) {
      const detail =
        'faults' in condition
          ? `compilation failed: ${condition.faults.join('\n')}`
          : 'cel expression must evaluate to a bool';
      at.at('rule').invalid(shownRule(rule), detail);
    } else this.#costs.add('rule', condition.costMax * (place.timesMax ?? timesInRequest(type)), at.at('rule'));
    const message =
      'expression' in condition && rule.messageExpression
        ? yield* this.#compileMessage(rule, rule.messageExpression, type, at)
        : undefined;
    if (readsOldSelf && list)
      at.at('rule').invalid(
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${formatPath(list.path)}`,
      );
    if (!readsOldSelf && rule.optionalOldSelf !== undefined)
      at.at('optionalOldSelf').invalid(rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
    return 'expression' in condition
      ? { declaration: rule, condition, message, fieldPath: stepsOf(schema, rule.fieldPath) }
      : undefined;
  }

  *#compileMessage(
    rule: ValidationRule,
    text: string,
    type: DeclaredType,
    at: Problems,
  ): SyncTask<RuleExpression | undefined> {
    const message = yield* compileRuleExpression(text, 'string', type, rule.optionalOldSelf === true);
    const place = at.at('messageExpression');
    if ('expression' in message) {
      this.#costs.add('messageExpression', message.costMax, place);
      return message;
    }
    const detail =
      'faults' in message
        ? `messageExpression compilation failed: ${message.faults.join('\n')}`
        : 'messageExpression must evaluate to a string';
    place.invalid(shownRule(rule), detail);
    return undefined;
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this package makes the schemas, and puts nothing else there
const rulesOf = ({ expressions = [] }: Schema): readonly ValidationRule[] => expressions as readonly ValidationRule[];

/** How often a value can be in a request, with a comma for each. */
const timesInRequest = ({ bytesMin }: DeclaredType): number => Math.floor(requestBytesMax / (bytesMin + 1));

const times = (outer: number | undefined, inner: number | undefined): number | undefined =>
  outer === undefined || inner === undefined ? undefined : outer * inner;

function itemsPlace(schema: ListSchema, { name, at, timesMax, list }: Place): Place {
  const isMatched = isSharedList(schema) && schema.sharing !== 'set';
  return {
    name: `${name}.@idx`,
    at: at.at('items'),
    timesMax: times(timesMax, schema.rules?.maxItems),
    list: list ?? (isMatched ? undefined : at),
  };
}

function valuesPlace(schema: ObjectSchema, { name, at, timesMax, list }: Place): Place {
  const isMap = mapValues(schema) !== undefined;
  return {
    name: `${name}.@elem`,
    at: at.at('additionalProperties'),
    timesMax: isMap ? times(timesMax, schema.rules?.maxProperties) : timesMax,
    list,
  };
}

/** As kube-apiserver shows a rule. */
const shownRule = (rule: ValidationRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

/** The steps of a valid field path: those into maps are keys. */
function stepsOf(schema: Schema, fieldPath: string | undefined): readonly Step[] {
  if (!fieldPath) return [];
  const steps: Step[] = [];
  findFieldBy(fieldPath, schema, memberAt(steps), { allowsBrackets: true });
  return steps;
}

const memberAt =
  (steps: Step[]) =>
  (schema: Schema | undefined, name: string): Schema | 'any' => {
    const members = schema?.type === 'object' ? schema : undefined;
    steps.push(members?.fields.has(name) ? name : { key: name });
    return (members && memberSchema(members, name)) ?? 'any';
  };
