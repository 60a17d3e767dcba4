import type { SyncTask } from '@cluster-apiserver/base';
import { formatPath, type Path, Problems } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import {
  decode,
  memberSchema,
  type Schema,
  structural,
  validateParts,
  validateValue,
  WrongTypeError,
} from '@cluster-apiserver/model/schema';
import { compileSchema, decodeValue } from '../schema/compile-schema.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { SchemaPatterns } from '../schema/schema-patterns.ts';
import { compileRules } from '../rules/compile-rules.ts';
import type { RuleNode } from '../rules/rule-node.ts';
import { RuleBudget, validateDefaultByRules } from '../rules/validate-rules.ts';
import { describedProperties, itemsOf, schemasPerStep } from './schema-parts.ts';

/**
 * Validates the defaults of a structural schema: each as it is written, without the defaults of what is in it. Values of
 * maps have none of their own.
 */
export function* validateDefaults(root: JsonSchema, patterns: SchemaPatterns, problems: Problems): SyncTask<void> {
  if (!(yield* hasDefault(root))) return;
  // At the root, too, a default has to be a whole resource.
  const resourceSchema: JsonSchema = { ...root, 'x-kubernetes-embedded-resource': true };
  const compiled = yield* compileSchema(resourceSchema, { withoutDefaults: true, patterns });
  // Rules that do not compile are a problem of their own.
  const rules = yield* compileRules(compiled, problems.aside());
  yield* new DefaultCheck(patterns).schema(root, compiled, rules, undefined, problems);
}

function* hasDefault(root: JsonSchema): SyncTask<boolean> {
  const open = [root];
  for (let count = 1; ; count++) {
    const schema = open.pop();
    if (!schema) return false;
    if (schema.default !== undefined) return true;
    if (count % schemasPerStep === 0) yield;
    const items = itemsOf(schema);
    if (items) open.push(items);
    for (const [, property] of describedProperties(schema)) open.push(property);
  }
}

/** From a value up to the embedded resource whose metadata, kind or apiVersion it is a part of. */
type Around = (value: unknown) => object;

class DefaultCheck {
  readonly #patterns: SchemaPatterns;
  readonly #budget = new RuleBudget();
  #visited = 0;

  constructor(patterns: SchemaPatterns) {
    this.#patterns = patterns;
  }

  *schema(
    json: JsonSchema,
    schema: Schema,
    rules: RuleNode | undefined,
    around: Around | undefined,
    at: Problems,
  ): SyncTask<void> {
    if (++this.#visited % schemasPerStep === 0) yield;
    const isResource = schema.type === 'object' && schema.structural?.embeddedResource === true;
    const ofMeta = isResource ? undefined : around;
    if (json.default !== undefined) {
      const place = at.at('default');
      const before = at.count;
      yield* ofMeta
        ? validateMetaDefault(json.default, schema, ofMeta, place)
        : validateDefault(json.default, schema, place);
      if (rules && at.count === before) yield* validateDefaultByRules(rules, json.default, this.#budget, place);
    }
    const items = itemsOf(json);
    if (items && schema.type === 'list')
      yield* this.schema(items, schema.items, rules?.items, ofMeta && ((value) => ofMeta([value])), at.at('items'));
    if (schema.type !== 'object') return;
    for (const [name, property] of Object.entries(json.properties ?? {})) {
      const place = at.at('properties', { key: name });
      if (isResource && ofResource.has(name))
        yield* this.schema(
          property,
          yield* compilePart(property, this.#patterns),
          undefined,
          (value) => ({ [name]: value }),
          place,
        );
      else {
        const member = memberSchema(schema, name);
        const inner = rules?.fields.get(name);
        if (member)
          yield* this.schema(property, member, inner, ofMeta && ((value) => ofMeta({ [name]: value })), place);
      }
    }
  }
}

const ofResource = new Set(['metadata', 'kind', 'apiVersion']);

/** A schema as if it were not one of a resource. */
function* compilePart(json: JsonSchema, patterns: SchemaPatterns): SyncTask<Schema> {
  const { fields } = yield* compileSchema(
    { type: 'object', properties: { value: json } },
    { withoutDefaults: true, patterns },
  );
  return fields.get('value')?.schema ?? { type: 'any' };
}

function* validateDefault(value: unknown, schema: Schema, at: Problems): SyncTask<void> {
  if (!(yield* pruneDefault(value, schema, at))) return;
  const before = at.count;
  // Duplicates in lists are not looked at: what was so before may stay.
  yield* validateParts(schema, value, value, at);
  if (at.count === before) yield* validateValue(schema, value, undefined, at);
}

function* pruneDefault(value: unknown, schema: Schema, at: Problems): SyncTask<boolean> {
  try {
    let hasUnknown = false;
    // The first step is that of `decodeValue`.
    yield* decodeValue(schema, value, (path) => (hasUnknown ||= !isInMetadata(schema, path.slice(1))));
    if (hasUnknown) at.invalid(value, 'must not have unknown fields');
    return true;
  } catch (error) {
    if (!(error instanceof WrongTypeError)) throw error;
    // The first step is that of `decodeValue`.
    const path = error.path.slice(1);
    at.at(...path).invalid(valueAt(value, path), error.problem);
    return false;
  }
}

/** Whether a path leads into the metadata of an embedded resource, which lose what they do not know without an error. */
function isInMetadata(schema: Schema, [step, ...more]: Path): boolean {
  if (step === undefined || more.length === 0) return false;
  if (schema.type === 'list') return isInMetadata(schema.items, more);
  if (schema.type !== 'object') return false;
  const name = typeof step === 'object' ? step.key : String(step);
  if (name === 'metadata' && schema.structural?.embeddedResource) return true;
  const member = memberSchema(schema, name);
  return member !== undefined && isInMetadata(member, more);
}

const valueAt = (value: unknown, [step, ...more]: Path): unknown =>
  typeof step !== 'string' && typeof step !== 'number'
    ? value
    : valueAt(isJsonObject(value) || Array.isArray(value) ? Reflect.get(value, step) : undefined, more);

/** A default in the metadata of an embedded resource. */
function* validateMetaDefault(value: unknown, schema: Schema, around: Around, at: Problems): SyncTask<void> {
  const problem = yield* findMetaProblem(around(value));
  if (problem === undefined) yield* validateValue(schema, value, undefined, at);
  else at.invalid(value, `must result in valid metadata: ${problem}`);
}

const resource = structural([], { embeddedResource: true });

function* findMetaProblem(part: object): SyncTask<string | undefined> {
  const problems = new Problems();
  try {
    const whole = decode(
      resource,
      { apiVersion: 'validation/v1', kind: 'Validation', metadata: {}, ...part },
      () => {},
    );
    yield* validateParts(resource, whole, whole, problems);
  } catch (error) {
    if (!(error instanceof WrongTypeError)) throw error;
    problems.at(...error.path).report(error.problem);
  }
  const texts = problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts[0];
}
