import { getOwn } from '@cluster-apiserver/base';
import type { JsonSchema } from '../schema/json-schema.ts';

/** Schemas that are looked at in one step. Each takes a microsecond or two. */
export const schemasPerStep = 200;

const scalars = new Set(['boolean', 'integer', 'number', 'string']);

/** Whether it says a type and nothing more, as most schemas do. Nothing can be wrong with it. */
export function isPlainScalar(schema: JsonSchema): boolean {
  for (const name in schema) if (name !== 'type' && name !== 'description') return false;
  return schema.type !== undefined && scalars.has(schema.type);
}

type Property = readonly [name: string, schema: JsonSchema];

/** Found in the first pass over a schema, for all passes. */
const described = new WeakMap<JsonSchema, readonly Property[]>();
const noProperties: readonly Property[] = [];

/** The properties that say more than a scalar type. */
export function describedProperties(schema: JsonSchema): readonly Property[] {
  if (!schema.properties) return noProperties;
  let found = described.get(schema);
  if (!found) {
    found = Object.entries(schema.properties).filter(([, property]) => !isPlainScalar(property));
    described.set(schema, found);
  }
  return found;
}

/** The schema of all entries; undefined for a list of schemas, which is refused. */
export const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || 'length' in items ? undefined : items;

/** The schema of a member. A name may be one that all objects inherit. */
export const entrySchema = (properties: JsonSchema['properties'], name: string): JsonSchema | undefined =>
  properties && getOwn(properties, name);

interface Junctor {
  readonly name: 'anyOf' | 'allOf' | 'oneOf' | 'not';
  readonly schemas: readonly JsonSchema[];
}

const none: readonly Junctor[] = [];

/** The schemas that are joined to check one value: of most there are none. */
export function junctorsOf({ anyOf, allOf, oneOf, not }: JsonSchema): readonly Junctor[] {
  if (!anyOf && !allOf && !oneOf && !not) return none;
  const all: Junctor[] = [
    { name: 'anyOf', schemas: anyOf ?? [] },
    { name: 'allOf', schemas: allOf ?? [] },
    { name: 'oneOf', schemas: oneOf ?? [] },
    { name: 'not', schemas: not ? [not] : [] },
  ];
  return all.filter(({ schemas }) => schemas.length > 0);
}
