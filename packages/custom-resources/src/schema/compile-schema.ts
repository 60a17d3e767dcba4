import type { SyncTask } from '@cluster-apiserver/base';
import type { Path } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  anyValue,
  boolean,
  type Constraints,
  decodeInSteps,
  double,
  emptied,
  int64,
  intOrString,
  list,
  type ListSchema,
  objectMeta,
  type ObjectSchema,
  resourceNames,
  type Schema,
  string,
  structural,
  unstructured,
  type ValueRules,
} from '@cluster-apiserver/model/schema';
import { findFormat } from './formats.ts';
import type { JsonSchema } from './json-schema.ts';
import { isPlainScalar } from '../definition/schema-parts.ts';
import { SchemaPatterns } from './schema-patterns.ts';

export interface CompileOptions {
  /** Whether it sets no defaults, so that these may be invalid themselves. */
  readonly withoutDefaults?: boolean;
  readonly patterns?: SchemaPatterns;
}

/** Compiles the schema of a version, which is a valid structural schema, in steps. */
export function* compileSchema(root: JsonSchema, options: CompileOptions = {}): SyncTask<ObjectSchema<KubeObject>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of the root has the metadata of every object
  return (yield* new Compiler(options).root(root)) as ObjectSchema<KubeObject>;
}

/** Schemas that are compiled in one step. */
const nodesPerStep = 50;

class Compiler {
  readonly #withoutDefaults: boolean;
  readonly #patterns: SchemaPatterns;
  #nodes = 0;

  constructor({ withoutDefaults = false, patterns = new SchemaPatterns() }: CompileOptions) {
    this.#withoutDefaults = withoutDefaults;
    this.#patterns = patterns;
  }

  *root(json: JsonSchema): SyncTask<ObjectSchema> {
    const compiled = yield* this.#object(json, true);
    return { ...compiled, ...(yield* this.#constraintsOf(json, compiled)) };
  }

  *#schema(json: JsonSchema): SyncTask<Schema> {
    if (++this.#nodes % nodesPerStep === 0) yield;
    const bare = yield* this.#bare(json);
    const constraints = yield* this.#constraintsOf(json, bare);
    return constraints ? { ...bare, ...constraints } : bare;
  }

  *#bare(json: JsonSchema): SyncTask<Schema> {
    if (json['x-kubernetes-int-or-string']) return intOrString;
    switch (json.type) {
      case 'array':
        return list(yield* this.#schema(itemsOf(json) ?? {}), sharingOf(json));
      case 'boolean':
        return boolean;
      case 'integer':
        return int64;
      case 'number':
        return double;
      case 'string':
        return string;
      case 'object':
        return yield* this.#object(json);
      default:
        return json.properties ? yield* this.#object(json) : anyValue;
    }
  }

  *#object(json: JsonSchema, isRoot = false): SyncTask<ObjectSchema> {
    const isResource = isRoot || json['x-kubernetes-embedded-resource'] === true;
    const fields: [string, Schema][] = [];
    const ofResource = new Map<string, Constraints>();
    let metadata = objectMeta;
    for (const [name, property] of Object.entries(json.properties ?? {})) {
      if (++this.#nodes % nodesPerStep === 0) yield;
      if (isResource && resourceNames.includes(name)) {
        const rules = yield* this.#rulesOf(property, true);
        // Every object has its own already.
        const isDefaulted = !isRoot && property.default !== undefined && !this.#withoutDefaults;
        ofResource.set(name, { ...(rules && { rules }), ...(isDefaulted && { default: property.default }) });
        if (name === 'metadata' && !isRoot && !this.#withoutDefaults) metadata = metadataOf(property);
      } else fields.push([name, scalarOf(property) ?? (yield* this.#schema(property))]);
    }
    const rest = yield* this.#restOf(json);
    return structural(fields, {
      isRoot,
      ofResource,
      metadata,
      ...(rest && { rest }),
      atomic: json['x-kubernetes-map-type'] === 'atomic',
      embeddedResource: json['x-kubernetes-embedded-resource'] ?? false,
    });
  }

  *#restOf(json: JsonSchema): SyncTask<Schema | undefined> {
    const { additionalProperties } = json;
    if (json['x-kubernetes-preserve-unknown-fields']) return unstructured;
    if (additionalProperties === true) return emptied;
    return additionalProperties ? yield* this.#schema(additionalProperties) : undefined;
  }

  *#constraintsOf(json: JsonSchema, bare: Schema): SyncTask<Constraints | undefined> {
    const isDefaulted = json.default !== undefined && !this.#withoutDefaults;
    const rules = yield* this.#rulesOf(json, false);
    const expressions = json['x-kubernetes-validations'];
    if (!rules && !expressions && !json.nullable && !isDefaulted) return undefined;
    const constraints: Constraints = {
      ...(json.nullable && { nullable: true }),
      ...(rules && { rules }),
      ...(expressions && { expressions }),
    };
    if (!isDefaulted) return constraints;
    return { ...constraints, default: yield* decodeValue({ ...bare, ...constraints }, json.default, () => {}) };
  }

  /** `isWhole`: with what it says about its members and entries, for a part of the rules of another schema. */
  *#rulesOf(json: JsonSchema, isWhole: boolean): SyncTask<ValueRules | undefined> {
    if (++this.#nodes % nodesPerStep === 0) yield;
    if (!mayHaveRules(json, isWhole)) return undefined;
    const { minimum, maximum, pattern, format, required = [], enum: choices = [] } = json;
    const known = format === undefined ? undefined : findFormat(json.type, format);
    const rules: ValueRules = {
      ...(choices.length > 0 && { enum: choices }),
      ...(minimum !== undefined && { minimum: boundOf(minimum, json.exclusiveMinimum) }),
      ...(maximum !== undefined && { maximum: boundOf(maximum, json.exclusiveMaximum) }),
      ...(pattern !== undefined && { pattern: yield* this.#patterns.compile(pattern) }),
      ...(known && { format: known }),
      // A member that is required twice is missing once, as in kube-apiserver.
      ...(required.length > 0 && { required: [...new Set(required)] }),
      ...plainRulesOf(json),
      ...(yield* this.#alternativesOf(json)),
      ...(isWhole && (yield* this.#insideOf(json))),
    };
    return Object.keys(rules).length === 0 ? undefined : rules;
  }

  *#alternativesOf(json: JsonSchema): SyncTask<ValueRules> {
    // An integer or a text has to say so, which its type says already.
    const isRedundant = json['x-kubernetes-int-or-string'] === true;
    const allOf = yield* this.#each(json.allOf);
    const anyOf = isRedundant ? undefined : yield* this.#each(json.anyOf);
    const oneOf = yield* this.#each(json.oneOf);
    return {
      ...(allOf && { allOf }),
      ...(anyOf && { anyOf }),
      ...(oneOf && { oneOf }),
      ...(json.not && { not: (yield* this.#rulesOf(json.not, true)) ?? {} }),
    };
  }

  *#each(alternatives: readonly JsonSchema[] = []): SyncTask<readonly ValueRules[] | undefined> {
    const all: ValueRules[] = [];
    for (const one of alternatives) all.push((yield* this.#rulesOf(one, true)) ?? {});
    return all.length === 0 ? undefined : all;
  }

  *#insideOf(json: JsonSchema): SyncTask<ValueRules> {
    const properties = new Map<string, ValueRules>();
    for (const [name, property] of Object.entries(json.properties ?? {}))
      properties.set(name, (yield* this.#rulesOf(property, true)) ?? {});
    const { additionalProperties } = json;
    const others =
      typeof additionalProperties === 'object' ? yield* this.#rulesOf(additionalProperties, true) : undefined;
    const entry = itemsOf(json);
    const items = entry && (yield* this.#rulesOf(entry, true));
    return {
      ...(properties.size > 0 && { properties }),
      ...(others && { additionalProperties: others }),
      ...(items && { items }),
    };
  }
}

const scalars: Readonly<Record<string, Schema>> = { boolean, integer: int64, number: double, string };

const scalarOf = (json: JsonSchema): Schema | undefined =>
  json.type !== undefined && isPlainScalar(json) ? scalars[json.type] : undefined;

/** What says nothing about whether a value is valid. */
const noRules = new Set(['type', 'description', 'title', 'default', 'nullable', 'example', 'externalDocs']);
const inside = new Set(['properties', 'additionalProperties', 'items']);

function mayHaveRules(json: JsonSchema, isWhole: boolean): boolean {
  for (const name in json) if (!noRules.has(name) && (isWhole || !inside.has(name))) return true;
  return false;
}

/** The metadata of an embedded resource, with the defaults of its schema for the fields that metadata have. */
function metadataOf({ properties = {} }: JsonSchema): typeof objectMeta {
  const fields = new Map(objectMeta.fields);
  for (const [name, { default: given }] of Object.entries(properties)) {
    const field = fields.get(name);
    if (!field || given === undefined) continue;
    fields.set(name, { ...field, presence: 'always', schema: { ...field.schema, default: given } });
  }
  return { ...objectMeta, fields };
}

/** A structural schema has one schema for all entries. */
const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items !== undefined && 'length' in items ? items[0] : items;

const boundOf = (value: number, isExclusive = false) => ({ value, isExclusive });

function plainRulesOf(json: JsonSchema): ValueRules {
  const { multipleOf, minLength, maxLength, minItems, maxItems, minProperties, maxProperties } = json;
  return {
    ...(multipleOf !== undefined && { multipleOf }),
    ...(minLength !== undefined && { minLength }),
    ...(maxLength !== undefined && { maxLength }),
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems }),
    ...(minProperties !== undefined && { minProperties }),
    ...(maxProperties !== undefined && { maxProperties }),
  };
}

function sharingOf(json: JsonSchema): ListSchema['sharing'] {
  const type = json['x-kubernetes-list-type'];
  const [first, ...others] = json['x-kubernetes-list-map-keys'] ?? [];
  if (type === 'map' && first !== undefined) return { keys: [first, ...others], isReplacedByPatch: true };
  return type === 'set' ? 'set' : 'atomic';
}

/** A value as it stands in objects: with the defaults of what is in it. */
export function* decodeValue(schema: Schema, value: unknown, unknownField: (path: Path) => void): SyncTask<unknown> {
  const decoded = yield* decodeInSteps<Record<string, unknown>>(
    { type: 'object', fields: new Map(), atomic: false, rest: schema, structural: plainObject },
    { value },
    unknownField,
    { hugeDefaults: 'added' },
  );
  return decoded['value'];
}
const plainObject = { first: [], added: [], embeddedResource: false };
