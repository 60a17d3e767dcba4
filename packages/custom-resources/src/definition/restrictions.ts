import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import type { JsonSchema } from '../schema/json-schema.ts';
import { validateRuleDeclarations } from '../rules/validate-declarations.ts';
import { describedProperties, entrySchema, itemsOf, junctorsOf, schemasPerStep } from './schema-parts.ts';

/** What the parts around a schema allow. */
interface Surroundings {
  readonly isRoot: boolean;
  /** It describes the metadata or the type names of a resource. */
  readonly isInMeta: boolean;
  /** Why it may have no default; undefined if it may. */
  readonly noDefault: string | undefined;
}

/** Refuses what JSON schemas may say, but no schema of a definition. */
export function* validateRestrictions(root: JsonSchema, problems: Problems): SyncTask<void> {
  const visited = { count: 0 };
  yield* visit(root, { isRoot: true, isInMeta: false, noDefault: undefined }, problems, visited);
}

const metaFields = new Set(['metadata', 'kind', 'apiVersion']);

function* visit(schema: JsonSchema, around: Surroundings, at: Problems, visited: { count: number }): SyncTask<void> {
  if (++visited.count % schemasPerStep === 0) yield;
  refuseUnsupported(schema, around, at);
  const { properties = {}, additionalProperties } = schema;
  const { isRoot, isInMeta, noDefault } = around;
  const inside = { ...around, isRoot: false };
  if (schema.uniqueItems)
    at.at('uniqueItems').forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  if (additionalProperties !== undefined) {
    const below = at.at('additionalProperties');
    if (additionalProperties !== true && Object.keys(properties).length > 0)
      below.forbidden('additionalProperties and properties are mutual exclusive');
    if (typeof additionalProperties === 'object') {
      const reason = isInMeta ? 'inside additionalProperties applying to object metadata' : noDefault;
      yield* visit(additionalProperties, { ...inside, noDefault: reason }, below, visited);
    }
  }
  for (const [name, property] of describedProperties(schema)) {
    const isMeta = metaFields.has(name) && (isRoot || schema['x-kubernetes-embedded-resource'] === true);
    const below: Surroundings = {
      isRoot: false,
      isInMeta: isInMeta || isMeta,
      noDefault: isMeta && isRoot ? `in top-level ${name}` : noDefault,
    };
    yield* visit(property, below, at.at('properties', { key: name }), visited);
  }
  for (const { name, schemas } of junctorsOf(schema))
    for (const [index, inner] of schemas.entries())
      yield* visit(inner, inside, name === 'not' ? at.at(name) : at.at(name, index), visited);
  const items = itemsOf(schema);
  if (items) yield* visit(items, inside, at.at('items'), visited);
  validateSharing(schema, at);
  validateRuleDeclarations(schema, at);
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function refuseUnsupported(schema: JsonSchema, { isInMeta, noDefault }: Surroundings, at: Problems): void {
  const { type, items } = schema;
  if (type !== undefined) at.at('type').oneOf(type, types);
  if (schema.default !== undefined && noDefault !== undefined)
    at.at('default').forbidden(`must not be set ${noDefault}`);
  for (const name of unsupported) if (schema[name] !== undefined) at.at(name).forbidden(`${name} is not supported`);
  if (type === 'null') at.at('type').forbidden('type cannot be set to null, use nullable as an alternative');
  if (items !== undefined && !itemsOf(schema))
    at.at('items').forbidden('items must be a schema object and not an array');
  if (isInMeta && schema['x-kubernetes-embedded-resource'])
    at.at('x-kubernetes-embedded-resource').forbidden('must not be used inside of resource meta');
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    at.at('x-kubernetes-preserve-unknown-fields').invalid(false, 'must be true or undefined');
}

/** `$schema` makes a schema unreadable, see `findUnreadable`. */
const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const;

const unreadable = [...unsupported, '$schema'] as const;

/** Why the parts of a schema cannot be looked at; undefined if they can. */
export function* findUnreadable(root: JsonSchema): SyncTask<string | undefined> {
  const open = [root];
  for (let count = 1; ; count++) {
    const schema = open.pop();
    if (!schema) return undefined;
    if (count % schemasPerStep === 0) yield;
    for (const name of unreadable)
      if (schema[name] !== undefined && schema[name] !== '')
        return `OpenAPIV3Schema '${name.replace('$schema', 'schema')}' is not supported`;
    if (schema['x-kubernetes-preserve-unknown-fields'] === false)
      return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
    const items = itemsOf(schema);
    if (schema.items !== undefined && !items) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
    if (items) open.push(items);
    for (const [, property] of describedProperties(schema)) open.push(property);
    if (typeof schema.additionalProperties === 'object') open.push(schema.additionalProperties);
    for (const { schemas } of junctorsOf(schema)) for (const inner of schemas) open.push(inner);
  }
}

const mapTypes = ['atomic', 'granular'];
const listTypes = ['atomic', 'set', 'map'];

/** How writers share objects and lists. */
function validateSharing(schema: JsonSchema, at: Problems): void {
  const mapType = schema['x-kubernetes-map-type'];
  const listType = schema['x-kubernetes-list-type'];
  if (mapType !== undefined) requireType(schema, 'object', 'x-kubernetes-map-type', at);
  if (mapType !== undefined) at.at('x-kubernetes-map-type').oneOf(mapType, mapTypes);
  const items = itemsOf(schema);
  if (listType !== undefined && schema.type !== 'array') requireType(schema, 'array', 'x-kubernetes-list-type', at);
  else if (listType === 'set' && items) validateSetItems(items, at.at('items'));
  if (listType !== undefined) at.at('x-kubernetes-list-type').oneOf(listType, listTypes);
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    if (listType === undefined) at.at('x-kubernetes-list-type').required(detail);
    else at.at('x-kubernetes-list-type').invalid(listType, detail);
  }
  if (listType === 'map') validateKeys(schema, items, keys, at);
  if (items && (listType === 'map' || listType === 'set') && items.nullable)
    at.at('items', 'nullable').forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`);
  if (items && listType === 'map') validateKeyFields(items, keys, at.at('items', 'properties'));
}

function requireType({ type }: JsonSchema, wanted: string, extension: string, at: Problems): void {
  if (type === wanted) return;
  const detail = `must be ${wanted} if ${extension} is specified`;
  if (type === undefined) at.at('type').required(detail);
  else at.at('type').invalid(type, detail);
}

function validateSetItems(items: JsonSchema, at: Problems): void {
  const listType = items['x-kubernetes-list-type'];
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic')
    at.at('x-kubernetes-list-type').invalid(listType, detail);
  // As upstream, this shows the type of a list.
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    at.at('x-kubernetes-map-type').invalid(listType ?? null, detail);
}

function validateKeys(schema: JsonSchema, items: JsonSchema | undefined, keys: readonly string[], at: Problems): void {
  const keysAt = at.at('x-kubernetes-list-map-keys');
  if (keys.length === 0) keysAt.required('must not be empty if x-kubernetes-list-type is map');
  if (schema.items === undefined) at.at('items').required('must have a schema if x-kubernetes-list-type is map');
  if (!items) return;
  if (items.type !== 'object')
    return void at
      .at('items', 'type')
      .invalid(items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map");
  const seen = new Set<string>();
  for (const key of keys) {
    const found = entrySchema(items.properties, key);
    if (!found) keysAt.invalid(keys, 'entries must all be names of item properties');
    // As upstream, this shows the type of the entry.
    else if (found.type === 'array' || found.type === 'object')
      at.at('items', 'properties', { key }, 'type').invalid(
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      );
    if (seen.has(key)) keysAt.invalid(keys, 'must not contain duplicate entries');
    seen.add(key);
  }
}

/** An entry is found by its keys, so each has a value. */
function validateKeyFields({ required, properties }: JsonSchema, keys: readonly string[], at: Problems): void {
  const isRequired = new Set(required);
  for (const key of keys) {
    const field = entrySchema(properties, key);
    if (field && !isRequired.has(key) && field.default === undefined)
      at.at({ key }, 'default').required(
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      );
    if (field?.nullable)
      at.at({ key }, 'nullable').forbidden('this property is in x-kubernetes-list-map-keys, so it cannot be nullable');
  }
}
