import { findFormat } from '../schema/formats.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { describedProperties, itemsOf, junctorsOf } from './schema-parts.ts';

/** The formats in a schema that are not known for the type that they are given with: they check nothing. */
export function findUnknownFormats(root: JsonSchema, found = new Set<string>()): Set<string> {
  const { type, format, additionalProperties } = root;
  if (format && !findFormat(type, format)) found.add(format);
  const items = itemsOf(root);
  if (items) findUnknownFormats(items, found);
  for (const { schemas } of junctorsOf(root)) for (const inner of schemas) findUnknownFormats(inner, found);
  for (const [, property] of describedProperties(root)) findUnknownFormats(property, found);
  if (typeof additionalProperties === 'object') findUnknownFormats(additionalProperties, found);
  return found;
}
