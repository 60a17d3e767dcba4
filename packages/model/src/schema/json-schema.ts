import { type SyncTask, unreachable } from '@cluster-apiserver/base';
import type { Dialect, JsonSchema } from './open-api.ts';
import type { Field, ListSchema, ObjectSchema, Schema } from './schema.ts';
import type { ValueRules } from './value-rules.ts';

/** The published forms that can be reached from these, each once, in the order of their names. */
export function* collectDefinitions(
  roots: Iterable<ObjectSchema>,
  dialect: Dialect,
): SyncTask<Record<string, JsonSchema>> {
  const found = new Map<string, JsonSchema>();
  for (const root of roots) yield* addDefinitions(found, root, dialect);
  return Object.fromEntries([...found].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function* addDefinitions(found: Map<string, JsonSchema>, schema: ObjectSchema, dialect: Dialect): SyncTask<void> {
  const { name, document } = schema.publication ?? {};
  if (name !== undefined && found.has(name)) return;
  if (name !== undefined) found.set(name, document ? yield* document(dialect) : toDefinition(schema, dialect));
  for (const field of schema.fields.values()) {
    const inside = innermost(field.schema);
    if (inside.type === 'object') yield* addDefinitions(found, inside, dialect);
    if (inside.type === 'intOrString' || inside.type === 'quantity') {
      const { name: scalar, definition } = publishedScalars[inside.type];
      found.set(scalar, definition);
    }
  }
  yield;
}

/** What upstream's documents define once, though it is a single value. */
const publishedScalars = {
  intOrString: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    definition: { description: 'A whole number or a text.', type: 'string', format: 'int-or-string' },
  },
  quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    definition: { description: 'An amount with a suffix, such as 500m, 2k or 1.5Gi.', type: 'string' },
  },
} as const;

/** The values inside of nested lists and maps. */
function innermost(schema: Schema): Schema {
  if (schema.type === 'list') return innermost(schema.items);
  return schema.type === 'map' ? innermost(schema.values) : schema;
}

function toDefinition(schema: ObjectSchema, dialect: Dialect): JsonSchema {
  const { description, required = [], groupVersionKind } = schema.publication ?? {};
  const fields = [...schema.fields.values()];
  return {
    ...(description && { description }),
    type: 'object',
    ...(required.length > 0 && { required }),
    ...(fields.length > 0 && {
      properties: Object.fromEntries(fields.map((field) => [field.name, toProperty(field, dialect)])),
    }),
    ...restOf(schema, dialect),
    ...(schema.structural?.embeddedResource && { 'x-kubernetes-embedded-resource': true }),
    ...(schema.atomic && { 'x-kubernetes-map-type': 'atomic' }),
    ...(groupVersionKind && { 'x-kubernetes-group-version-kind': [groupVersionKind] }),
  };
}

function restOf({ rest }: ObjectSchema, dialect: Dialect): JsonSchema {
  if (!rest) return {};
  if (rest.type === 'any' && rest.contents === 'owned') return { 'x-kubernetes-preserve-unknown-fields': true };
  const isOpen = rest.type === 'any' && rest.contents === 'emptied';
  return { additionalProperties: isOpen ? {} : toJsonSchema(rest, dialect) };
}

function toProperty({ schema, description }: Field, dialect: Dialect): JsonSchema {
  const form = toJsonSchema(schema, dialect);
  const described = description === '' ? {} : { description };
  return form.$ref === undefined || dialect.describedReferences
    ? { ...described, ...form }
    : { ...described, allOf: [form] };
}

/** A reference where the form is published, and the form itself otherwise. */
export function toJsonSchema(schema: Schema, dialect: Dialect): JsonSchema {
  const form = toForm(schema, dialect);
  const { nullable, default: fallback, rules } = schema;
  if (!nullable && fallback === undefined && !rules) return form;
  return {
    ...form,
    ...(nullable && { nullable }),
    ...(fallback !== undefined && { default: fallback }),
    ...(rules && rulesToJson(rules)),
  };
}

function toForm(schema: Schema, dialect: Dialect): JsonSchema {
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return { type: schema.type };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: schema.type };
    case 'double':
      return { type: 'number', format: 'double' };
    case 'intOrString':
    case 'quantity':
      return { $ref: dialect.references + publishedScalars[schema.type].name };
    case 'time':
    case 'microTime':
      return { type: 'string', format: 'date-time' };
    case 'map':
      return { type: 'object', additionalProperties: toJsonSchema(schema.values, dialect) };
    case 'list':
      return { type: 'array', items: toJsonSchema(schema.items, dialect), ...sharingExtensions(schema) };
    case 'object':
      // OpenAPI 2 cannot say that a value has one of two types.
      if (schema.otherwise) return {};
      return schema.publication
        ? { $ref: dialect.references + schema.publication.name }
        : toDefinition(schema, dialect);
    case 'any':
      return schema.contents === undefined ? { type: 'object' } : { 'x-kubernetes-preserve-unknown-fields': true };
    default:
      return unreachable(schema);
  }
}

/** Twice, because server-side apply reads the first words and strategic merge patches the others. */
function sharingExtensions({ sharing }: ListSchema): JsonSchema {
  if (sharing === 'atomic') return { 'x-kubernetes-list-type': 'atomic' };
  if (sharing === 'set') return { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' };
  const { keys, isReplacedByPatch } = sharing;
  const merge = { 'x-kubernetes-patch-merge-key': keys[0], 'x-kubernetes-patch-strategy': 'merge' };
  return {
    'x-kubernetes-list-map-keys': keys,
    'x-kubernetes-list-type': 'map',
    ...(!isReplacedByPatch && merge),
  };
}

/** The keywords that say the same. */
function rulesToJson(rules: ValueRules): JsonSchema {
  const { minimum, maximum, pattern, format, required, properties, additionalProperties, items, ...others } = rules;
  const { allOf, anyOf, oneOf, not, ...plain } = others;
  return {
    ...plain,
    ...(minimum && { minimum: minimum.value, ...(minimum.isExclusive && { exclusiveMinimum: true }) }),
    ...(maximum && { maximum: maximum.value, ...(maximum.isExclusive && { exclusiveMaximum: true }) }),
    ...(pattern && { pattern: pattern.source }),
    ...(format && { format: format.name }),
    ...(required && { required }),
    ...(properties && {
      properties: Object.fromEntries([...properties].map(([name, inner]) => [name, rulesToJson(inner)])),
    }),
    ...(additionalProperties && { additionalProperties: rulesToJson(additionalProperties) }),
    ...(items && { items: rulesToJson(items) }),
    ...(allOf && { allOf: allOf.map(rulesToJson) }),
    ...(anyOf && { anyOf: anyOf.map(rulesToJson) }),
    ...(oneOf && { oneOf: oneOf.map(rulesToJson) }),
    ...(not && { not: rulesToJson(not) }),
  };
}
