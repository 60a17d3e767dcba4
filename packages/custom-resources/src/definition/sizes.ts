import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { jsonValuesMax } from '@cluster-apiserver/model/json';
import { countValues } from '@cluster-apiserver/model/validation';
import type { JsonSchema } from '../schema/json-schema.ts';
import { describedProperties, itemsOf, junctorsOf, schemasPerStep } from './schema-parts.ts';

/**
 * Properties of an object, and names that `required` may have. V8 reads and writes objects of many more members several times
 * as slowly, and each pass over them is one step.
 */
const propertiesMax = 2_000;

/** Properties that are looked at in the time of one schema. */
const propertiesPerSchema = 10;

/** Refuses what is too large to be worked on in one step, before anything else looks at a schema. */
export function* validateSizes(root: JsonSchema, problems: Problems): SyncTask<void> {
  const open: { readonly schema: JsonSchema; readonly at: Problems }[] = [{ schema: root, at: problems }];
  for (let left = schemasPerStep; ; left--) {
    const next = open.pop();
    if (!next) return;
    if (left <= 0) {
      left = schemasPerStep;
      yield;
    }
    const { schema, at } = next;
    const { required = [], properties = {}, additionalProperties } = schema;
    if (required.length > propertiesMax) at.at('required').tooMany(required.length, propertiesMax);
    if (schema.default !== undefined && countValues(schema.default, jsonValuesMax) > jsonValuesMax)
      at.at('default').forbidden(`may not hold more than ${jsonValuesMax} values`);
    const { length } = Object.keys(properties);
    left -= length / propertiesPerSchema;
    if (length > propertiesMax) at.at('properties').tooMany(length, propertiesMax);
    else
      for (const [name, property] of describedProperties(schema))
        open.push({ schema: property, at: at.at('properties', { key: name }) });
    const items = itemsOf(schema);
    if (items) open.push({ schema: items, at: at.at('items') });
    if (typeof additionalProperties === 'object')
      open.push({ schema: additionalProperties, at: at.at('additionalProperties') });
    for (const { name, schemas } of junctorsOf(schema))
      for (const [index, inner] of schemas.entries())
        open.push({ schema: inner, at: name === 'not' ? at.at(name) : at.at(name, index) });
  }
}
