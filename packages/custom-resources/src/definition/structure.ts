import { errorMessage, type SyncTask } from '@cluster-apiserver/base';
import { formatPath, type Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { SchemaPatterns } from '../schema/schema-patterns.ts';
import { describedProperties, entrySchema, itemsOf, junctorsOf, schemasPerStep } from './schema-parts.ts';

/**
 * Refuses a schema that is not structural. In such a schema every value has one type, which is found without looking at a
 * value: only then can unknown members be pruned, defaults be set, and lists have owners for each entry. What is below
 * `allOf`, `anyOf`, `oneOf` and `not` only checks values whose types are described outside of them.
 */
export function* validateStructure(root: JsonSchema, patterns: SchemaPatterns, problems: Problems): SyncTask<void> {
  const found = problems.aside();
  const check = new StructureCheck(patterns);
  yield* check.schema(root, 'root', found);
  yield* check.completeness(root, root, found, found);
  // The order of the members of a schema means nothing.
  const texts = found.errors.map((error) => ({ error, text: `${formatPath(error.path)}: ${error.message}` }));
  texts.sort((left, right) => (left.text < right.text ? -1 : left.text > right.text ? 1 : 0));
  problems.include({ errors: texts.map(({ error }) => error), count: found.count });
}

/** What a value is part of decides how an error names it. */
type Level = 'root' | 'item' | 'field';

const typeMissing: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/** An integer or a text may say again that it is one of these, in this order. */
const integerOrString = [{ type: 'integer' }, { type: 'string' }];

class StructureCheck {
  readonly #patterns: SchemaPatterns;
  #visited = 0;

  constructor(patterns: SchemaPatterns) {
    this.#patterns = patterns;
  }

  *schema(schema: JsonSchema, level: Level, at: Problems): SyncTask<void> {
    if (++this.#visited % schemasPerStep === 0) yield;
    const { type, additionalProperties } = schema;
    const items = itemsOf(schema);
    if (type === 'array' && !items) at.at('items').required('must be specified');
    if (items) yield* this.schema(items, 'item', at.at('items'));
    for (const [name, property] of describedProperties(schema))
      yield* this.schema(property, 'field', at.at('properties', { key: name }));
    if (additionalProperties !== undefined) {
      const below = at.at('additionalProperties');
      if (level === 'root') below.forbidden('must not be used at the root');
      if (typeof additionalProperties === 'object') yield* this.schema(additionalProperties, 'field', below);
    }
    this.#extensions(schema, at);
    yield* this.#values(schema, at, sameJson(schema.anyOf, integerOrString), isIntegerOrStringFirst(schema));
    this.#type(schema, level, at);
    this.#resource(schema, level, at);
  }

  #extensions(schema: JsonSchema, at: Problems): void {
    if (!schema['x-kubernetes-int-or-string']) return;
    for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
      if (schema[name]) at.at(name).invalid(true, 'must be false if x-kubernetes-int-or-string is true');
  }

  #type({ type, additionalProperties, ...schema }: JsonSchema, level: Level, at: Problems): void {
    const isResource = schema['x-kubernetes-embedded-resource'] === true;
    const needsNone = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields'];
    if (isResource && type !== 'object') {
      const detail = 'must be object if x-kubernetes-embedded-resource is true';
      if (type === undefined) at.at('type').required(detail);
      else at.at('type').invalid(type, detail);
    } else if (type === undefined && !needsNone) at.at('type').required(typeMissing[level]);
    if (isResource && additionalProperties !== undefined)
      at.at('additionalProperties').forbidden('must not be used if x-kubernetes-embedded-resource is set');
    if (level === 'root' && type !== undefined && type !== 'object')
      at.at('type').invalid(type, 'must be object at the root');
  }

  /** The fields that every resource has. */
  #resource(schema: JsonSchema, level: Level, at: Problems): void {
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    const { properties = {} } = schema;
    if (isEmbedded || level === 'root')
      for (const [name, type] of typesOfResource) {
        const found = Object.hasOwn(properties, name) ? properties[name] : undefined;
        if (found && found.type !== type)
          at.at('properties', { key: name }, 'type').invalid(found.type ?? '', `must be ${type}`);
      }
    if (level === 'root' && properties['metadata'] && !isNameOnly(properties['metadata']))
      at.at('properties', { key: 'metadata' }).forbidden(
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
    if (isEmbedded && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0)
      at.at('properties').required(
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
  }

  /** What a schema says about values whose types are known. */
  *#values(schema: JsonSchema, at: Problems, skipsAnyOf: boolean, skipsFirst = false): SyncTask<void> {
    for (const { name, schemas } of junctorsOf(schema)) {
      if (name === 'anyOf' && skipsAnyOf) continue;
      for (const [index, inner] of schemas.entries())
        yield* this.#nested(
          inner,
          name === 'not' ? at.at(name) : at.at(name, index),
          skipsFirst && name === 'allOf' && index === 0,
        );
    }
    if (schema.pattern) {
      try {
        yield* this.#patterns.compile(schema.pattern);
      } catch (error) {
        at.at('pattern').invalid(
          schema.pattern,
          `must be a valid regular expression, but isn't: ${errorMessage(error)}`,
        );
      }
    }
  }

  *#nested(schema: JsonSchema, at: Problems, skipsAnyOf = false): SyncTask<void> {
    if (++this.#visited % schemasPerStep === 0) yield;
    yield* this.#values(schema, at, skipsAnyOf);
    const { properties = {}, additionalProperties } = schema;
    const items = itemsOf(schema);
    if (items) yield* this.#nested(items, at.at('items'));
    for (const [name, property] of Object.entries(properties))
      yield* this.#nested(property, at.at('properties', { key: name }));
    // `false` permits nothing more than its absence does.
    if (additionalProperties) at.at('additionalProperties').forbidden('must be undefined to be structural');
    for (const [name, must] of notNested)
      if (schema[name] !== undefined && schema[name] !== false)
        at.at(name).forbidden(`must be ${must} to be structural`);
    if (Object.hasOwn(properties, 'metadata'))
      at.at('properties', { key: 'metadata' }).forbidden('must not be specified in a nested context');
  }

  /** What the root checks has to be described outside of the checks. It is not asked of the schemas below the root. */
  *completeness(values: JsonSchema, outside: JsonSchema, at: Problems, valuesAt: Problems): SyncTask<void> {
    for (const { name, schemas } of junctorsOf(values))
      for (const [index, inner] of schemas.entries())
        yield* this.#described(inner, outside, at, name === 'not' ? valuesAt.at(name) : valuesAt.at(name, index));
  }

  *#described(values: JsonSchema, outside: JsonSchema | undefined, at: Problems, valuesAt: Problems): SyncTask<void> {
    if (++this.#visited % schemasPerStep === 0) yield;
    if (!outside) {
      at.required(`because it is defined in ${formatPath(valuesAt.path)}`);
      return;
    }
    yield* this.completeness(values, outside, at, valuesAt);
    const items = itemsOf(values);
    if (items) yield* this.#described(items, itemsOf(outside), at.at('items'), valuesAt.at('items'));
    for (const [name, property] of Object.entries(values.properties ?? {})) {
      const steps = ['properties', { key: name }] as const;
      yield* this.#described(property, entrySchema(outside.properties, name), at.at(...steps), valuesAt.at(...steps));
    }
  }
}

const typesOfResource = [
  ['kind', 'string'],
  ['apiVersion', 'string'],
  ['metadata', 'object'],
] as const;

const isIntegerOrStringFirst = ({ allOf }: JsonSchema): boolean => sameJson(allOf?.[0]?.anyOf, integerOrString);

/** Whether metadata is only described as far as its names; a default has an error of its own. */
function isNameOnly(metadata: JsonSchema): boolean {
  return (
    Object.keys(metadata).every((name) => name === 'type' || name === 'default' || name === 'properties') &&
    Object.keys(metadata.properties ?? {}).every((name) => name === 'name' || name === 'generateName')
  );
}

/** What says more about a value than whether it is valid. */
const notNested = [
  ['type', 'empty'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
] as const;
