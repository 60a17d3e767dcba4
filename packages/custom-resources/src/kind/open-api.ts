import { setOwn, type SyncTask, toSyncTask } from '@cluster-apiserver/base';
import type { Dialect, GroupVersionKind, JsonSchema as Published, Publication } from '@cluster-apiserver/model/schema';
import { publicationOf } from '@cluster-apiserver/model/schema';
import { schemasPerStep } from '../definition/schema-parts.ts';
import type { JsonSchema } from '../schema/json-schema.ts';

/** In the words of kube-apiserver, which `kubectl explain` shows. */
const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
const typeNames = {
  apiVersion: {
    type: 'string',
    description: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`,
  },
  kind: {
    type: 'string',
    description: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`,
  },
} as const;
const embeddedNames = {
  apiVersion: {
    type: 'string',
    description: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
  },
  kind: {
    type: 'string',
    description: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
  },
} as const;
const metadataDescription = `Standard object's metadata. More info: ${conventions}#metadata`;

const metaName = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** A reference with a description, which has no place beside it in version 3. */
function referenceTo(name: string, description: string, { references, describedReferences }: Dialect): Published {
  const reference = { $ref: `${references}${name}` };
  return describedReferences ? { ...reference, description } : { allOf: [reference], description };
}

const metadataOf = (dialect: Dialect): Published => referenceTo(`${metaName}.ObjectMeta`, metadataDescription, dialect);

/** How the schema of a version is published: as its definition has it, and with what every object has. */
export const publicationOfKind = (
  names: GroupVersionKind,
  { description, selectable }: { readonly description: string; readonly selectable: readonly string[] },
  readSchema: () => SyncTask<JsonSchema>,
): Publication => ({
  ...publicationOf(names, description),
  document: (dialect) => publishKind(names, selectable, readSchema, dialect),
});

function* publishKind(
  names: GroupVersionKind,
  selectable: readonly string[],
  readSchema: () => SyncTask<JsonSchema>,
  dialect: Dialect,
): SyncTask<Published> {
  return { ...(yield* documentOf(yield* readSchema(), dialect)), ...extensionsOf(names, selectable) };
}

export const publicationOfList = (
  names: GroupVersionKind,
  { kind, plural, item }: { readonly kind: string; readonly plural: string; readonly item: string },
  selectable: readonly string[],
): Publication => ({
  ...publicationOf(names, `${names.kind} is a list of ${kind}`, ['items']),
  document: toSyncTask((dialect) => ({
    description: `${names.kind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeNames,
      items: {
        description: `List of ${plural}. More info: ${conventions}`,
        type: 'array',
        items: { $ref: `${dialect.references}${item}` },
      },
      metadata: referenceTo(
        `${metaName}.ListMeta`,
        `Standard list metadata. More info: ${conventions}#types-kinds`,
        dialect,
      ),
    },
    ...extensionsOf(names, selectable),
  })),
});

const extensionsOf = (names: GroupVersionKind, selectable: readonly string[]): Published => ({
  'x-kubernetes-group-version-kind': [names],
  ...(selectable.length > 0 && {
    'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })),
  }),
});

function* documentOf(schema: JsonSchema, dialect: Dialect): SyncTask<Published> {
  // kubectl would take any other field for an unknown one.
  if (isPlain(dialect) && schema['x-kubernetes-preserve-unknown-fields']) return { type: 'object' };
  const { properties, ...shown } = yield* isPlain(dialect) ? plainSchema(schema, dialect) : fullSchema(schema, dialect);
  return { ...shown, properties: { ...properties, ...typeNames, metadata: metadataOf(dialect) } };
}

/** Version 2 of OpenAPI: it has no alternatives, no null, and clients of it fill in no defaults. */
const isPlain = ({ describedReferences }: Dialect): boolean => describedReferences;

function* fullSchema(schema: JsonSchema, dialect: Dialect): SyncTask<Published> {
  const inner = (one: JsonSchema): SyncTask<Published> => fullSchema(one, dialect);
  const published: Published = { ...(yield* keywordsOf(schema)), ...(yield* insideOf(schema, inner)) };
  return withResourceFields(schema, unfolded(schema, published), dialect);
}

/** What every schema says as it is. */
function* keywordsOf(schema: JsonSchema): SyncTask<Published> {
  const { items: _items, properties: _properties, additionalProperties: _others, ...rest } = schema;
  const { allOf, anyOf, oneOf, not, dependencies: _1, patternProperties: _2, definitions: _3, ...keywords } = rest;
  const { additionalItems: _4, $schema: _5, $ref: _6, ...shown } = keywords;
  return {
    ...shown,
    ...(allOf && { allOf: yield* alternatives(allOf) }),
    ...(anyOf && { anyOf: yield* alternatives(anyOf) }),
    ...(oneOf && { oneOf: yield* alternatives(oneOf) }),
    ...(not && { not: yield* alternative(not) }),
  };
}

function* alternative(schema: JsonSchema): SyncTask<Published> {
  return { ...(yield* keywordsOf(schema)), ...(yield* insideOf(schema, alternative)) };
}

function* alternatives(schemas: readonly JsonSchema[]): SyncTask<Published[]> {
  const all: Published[] = [];
  for (const one of schemas) all.push(yield* alternative(one));
  yield;
  return all;
}

function* insideOf(schema: JsonSchema, inner: (one: JsonSchema) => SyncTask<Published>): SyncTask<Published> {
  const { items, properties, additionalProperties } = schema;
  const entry = items !== undefined && 'length' in items ? items[0] : items;
  return {
    ...(entry && { items: yield* inner(entry) }),
    ...(properties && { properties: yield* propertiesOf(properties, inner) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: yield* inner(additionalProperties) }),
    ...(additionalProperties === true && { additionalProperties: {} }),
  };
}

function* propertiesOf(
  properties: NonNullable<JsonSchema['properties']>,
  inner: (one: JsonSchema) => SyncTask<Published>,
): SyncTask<Record<string, Published>> {
  const all: Record<string, Published> = {};
  let count = 0;
  for (const [name, one] of Object.entries(properties)) {
    setOwn(all, name, yield* inner(one));
    if (++count % schemasPerStep === 0) yield;
  }
  yield;
  return all;
}

/** An integer or a text says so in the words of OpenAPI, too. */
function unfolded(schema: JsonSchema, published: Published): Published {
  if (!schema['x-kubernetes-int-or-string']) return published;
  const types = [{ type: 'integer' }, { type: 'string' }];
  if (namesBothTypes(schema.anyOf) || namesBothTypes(schema.allOf?.[0]?.anyOf)) return published;
  return schema.anyOf === undefined
    ? { ...published, anyOf: types }
    : { ...published, allOf: [{ anyOf: types }, ...(published.allOf ?? [])] };
}

const namesBothTypes = (schemas: readonly JsonSchema[] | undefined): boolean =>
  schemas?.length === 2 && schemas[0]?.type === 'integer' && schemas[1]?.type === 'string';

function withResourceFields(schema: JsonSchema, published: Published, dialect: Dialect): Published {
  if (!schema['x-kubernetes-embedded-resource']) return published;
  const required = new Set([...(published.required ?? []), 'kind', 'apiVersion']);
  return {
    ...published,
    properties: { ...published.properties, ...embeddedNames, metadata: metadataOf(dialect) },
    required: [...required],
  };
}

/** Where a value may be null, or have fields without a schema, clients of version 2 must not look further. */
function* plainSchema(schema: JsonSchema, dialect: Dialect): SyncTask<Published> {
  const { allOf: _1, anyOf: _2, oneOf: _3, not: _4, default: _5, nullable = false, ...rest } = schema;
  const keepsUnknown = rest['x-kubernetes-preserve-unknown-fields'] === true;
  const isOpaque = nullable || keepsUnknown;
  const { type, required: wanted = [], ...shown } = yield* keywordsOf(rest);
  const inside = isOpaque
    ? yield* insideOf({ additionalProperties: rest.additionalProperties ?? false }, (one) => plainSchema(one, dialect))
    : yield* insideOf(rest, (one) => plainSchema(one, dialect));
  const isUntyped = nullable || (keepsUnknown && (type === 'object' || type === 'array'));
  const others = rest.additionalProperties;
  const required =
    typeof others === 'object' && others.nullable
      ? []
      : wanted.filter((name) => rest.properties?.[name]?.nullable !== true);
  const published: Published = {
    ...(type !== undefined && !isUntyped && { type }),
    ...(required.length > 0 && { required }),
    ...shown,
    ...inside,
  };
  return keepsUnknown ? published : withResourceFields(rest, published, dialect);
}
