/**
 * Snapshots of the API that clients see, so that changes are visible in review. After an intended change,
 * `npm test -- api-surface -u` updates them.
 */
import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { kinds, reviews, type ReviewServices } from '@cluster-apiserver/kinds';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import { discoveryRoutes, openApiRoutes, type VersionInfo } from '@cluster-apiserver/pipeline';
import { askDocuments } from '../../pipeline/test/ask-documents.ts';
import { services } from '../../kinds/test/services.ts';

const served = [
  ...kinds(services).flatMap(({ versions }) => versions.filter(({ isServed }) => isServed)),
  ...reviews({} as ReviewServices),
]; // only their declarations are used
const ask = askDocuments({}, [
  discoveryRoutes(() => served, {} as VersionInfo, systemClock), // not part of the snapshot
  openApiRoutes(() => served, 'v0', systemClock),
]);

test.each(['/api', '/apis'])('discovery through %s matches the snapshot', async (path) => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  expect(JSON.stringify(JSON.parse((await ask(path, { accept })).text), null, 2)).toMatchSnapshot();
});

test.each([
  ['/api/v1', 'serviceaccounts', 'pbx9ZvyFpBE='],
  ['/api/v1', 'events', 'r2yiGXH7wu8='],
  ['/api/v1', 'namespaces', 'Q3oi5N2YM8M='],
  ['/apis/events.k8s.io/v1', 'events', 'r2yiGXH7wu8='],
  ['/apis/rbac.authorization.k8s.io/v1', 'roles', '7FuwZcIIItM='],
  ['/apis/rbac.authorization.k8s.io/v1', 'rolebindings', 'eGsCzGH6b1g='],
  ['/apis/rbac.authorization.k8s.io/v1', 'clusterroles', 'bYE5ZWDrJ44='],
  ['/apis/rbac.authorization.k8s.io/v1', 'clusterrolebindings', '48tpQ8gZHFc='],
  ['/apis/authentication.k8s.io/v1', 'tokenreviews', undefined],
])('%s gives %s the storage version hash of kube-apiserver', async (path, plural, hash) => {
  const { resources } = JSON.parse((await ask(path)).text) as {
    resources: readonly { readonly name: string; readonly storageVersionHash?: string }[];
  };
  expect(resources.find(({ name }) => name === plural)?.storageVersionHash).toBe(hash);
});

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}
interface Operation {
  readonly operationId: string;
  readonly consumes: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly schema?: JsonSchema }[];
  readonly responses: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

/** Omits path parameters, which the path contains. */
const operationsIn = (item: Readonly<Record<string, Operation>>): [string, Operation][] =>
  Object.entries(item).filter(([method]) => method !== 'parameters');

const document = async (): Promise<Document> => JSON.parse((await ask('/openapi/v2')).text) as Document;

test('the operations match the snapshot', async () => {
  const lines = Object.entries((await document()).paths).flatMap(([path, item]) =>
    operationsIn(item).map(([method, { operationId, parameters = [], consumes, responses }]) =>
      [
        `${method.toUpperCase()} ${path} (${operationId})`,
        `takes ${parameters.map(({ name, schema }) => (schema ? `${describeSchema(schema)} as ${consumes.join(', ')};` : name)).join(' ')}`,
        `gives ${Object.entries(responses)
          .map(([code, { schema }]) => (schema ? `${code} ${describeSchema(schema)}` : code))
          .join(', ')}`,
      ].join('\n  '),
    ),
  );
  expect(lines.join('\n')).toMatchSnapshot();
});

test('the object schemas match the snapshot', async () => {
  const lines = Object.entries((await document()).definitions).flatMap(([name, { properties = {}, required = [] }]) => [
    name,
    ...Object.entries(properties).map(
      ([field, schema]) => `  ${field}: ${describeSchema(schema)}${required.includes(field) ? ', required' : ''}`,
    ),
  ]);
  expect(lines.join('\n')).toMatchSnapshot();
});

/** A short description of a schema, including its merge strategy. */
function describeSchema(schema: JsonSchema): string {
  const merged = Object.entries(schema).filter(([key]) => key.startsWith('x-kubernetes-list'));
  const how = merged.map(([, value]) => String(value)).join(' ');
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf('.') + 1);
  if (schema.items) return `list of ${describeSchema(schema.items)}${how ? ` (${how})` : ''}`;
  if (schema.additionalProperties) return `map of ${describeSchema(schema.additionalProperties)}`;
  return schema.format ?? schema.type ?? 'any';
}

test('every operation, parameter and field has a description', async () => {
  const undescribed: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const entry = value as Record<string, unknown>;
    const described = typeof entry.description === 'string' && /^[A-Z].*[.;]?$/s.test(entry.description);
    if (('operationId' in entry || 'in' in entry) && !described) undescribed.push(path);
    // A field may have that name itself.
    if (path.endsWith('.properties') && !path.endsWith('.properties.properties'))
      for (const [name, field] of Object.entries(entry))
        if (!(field as JsonSchema).description) undescribed.push(`${path}.${name}`);
    for (const [key, inside] of Object.entries(entry)) visit(inside, `${path}.${key}`);
  };
  visit(await document(), '');
  expect(undescribed).toEqual([]);
});
