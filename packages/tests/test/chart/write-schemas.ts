// Converts OpenAPI documents and CustomResourceDefinitions to JSON schemas for kubeconform, and the definitions to JSON:
// node --conditions=source packages/tests/test/chart/write-schemas.ts TARGET SOURCE…
import fs from 'node:fs';
import path from 'node:path';
import { isMap, readYaml, type Value } from './chart-files.ts';

type Fields = { readonly [name: string]: Value };

const [target, ...sources] = process.argv.slice(2);
if (target === undefined) throw new Error('the target folder is missing');

for (const source of sources) {
  if (source.endsWith('.json')) writeSwagger(JSON.parse(fs.readFileSync(source, 'utf8')) as Fields);
  else
    for (const name of fs.readdirSync(source).filter((file) => file.endsWith('.yaml')))
      for (const text of fs.readFileSync(path.join(source, name), 'utf8').split(/^---$/m))
        writeDefinition(readYaml(text));
}

function write(kind: string, group: string, version: string, schema: Value): void {
  // kubeconform's file names, in which the core group is named by its version.
  const folder = path.join(target as string, group === '' ? version : group);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, `${kind.toLowerCase()}_${version}.json`), JSON.stringify(schema));
}

/** Writes each kind with the definitions that it refers to. */
function writeSwagger({ definitions }: Fields): void {
  if (!isMap(definitions)) throw new Error('the document has no definitions');
  const strictDefinitions = Object.fromEntries(Object.entries(definitions).map(([name, one]) => [name, strict(one)]));
  for (const [name, definition] of Object.entries(definitions)) {
    const kinds = isMap(definition) ? definition['x-kubernetes-group-version-kind'] : undefined;
    if (!Array.isArray(kinds) || kinds.length !== 1) continue; // definitions with several kinds are options and the like, not objects
    const [{ group, version, kind }] = kinds as [{ group: string; version: string; kind: string }]; // the format of Kubernetes
    const needed = new Set<string>();
    collect(name, definitions, needed);
    write(kind, group, version, {
      $schema: 'http://json-schema.org/draft-07/schema#',
      $ref: `#/definitions/${name}`,
      definitions: Object.fromEntries([...needed].map((one) => [one, strictDefinitions[one] ?? {}])),
    });
  }
}

function collect(name: string, definitions: Fields, needed: Set<string>): void {
  if (needed.has(name)) return;
  needed.add(name);
  for (const [, other = ''] of JSON.stringify(definitions[name]).matchAll(/"#\/definitions\/([^"]+)"/g))
    collect(other, definitions, needed);
}

function writeDefinition(document: Value): void {
  if (!isMap(document) || document.kind !== 'CustomResourceDefinition') return;
  const { metadata, spec } = document as unknown as Definition; // its kind says so
  const definitions = path.join(target as string, 'definitions');
  fs.mkdirSync(definitions, { recursive: true });
  fs.writeFileSync(path.join(definitions, `${metadata.name}.json`), JSON.stringify(document));
  for (const { name, schema } of spec.versions) {
    const root = schema.openAPIV3Schema as { properties: Fields };
    const any = { type: 'object' }; // the definition has no details
    const properties = { ...root.properties, apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: any };
    write(spec.names.kind, spec.group, name, strict({ ...root, properties }));
  }
}

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: DefinitionSpec;
}

interface DefinitionSpec {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Value } }[];
}

/** Forbids unknown fields, like `kubectl apply --validate=strict`. */
function strict(schema: Value): Value {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isMap(schema)) return schema;
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true)
    return { anyOf: [{ type: 'string' }, { type: 'integer' }] };
  const { properties, ...rest } = schema;
  const others = Object.fromEntries(
    Object.entries(rest)
      .filter(([name]) => !name.startsWith('x-') && !['format', 'description', 'default'].includes(name))
      .map(([name, one]) => [name, strict(one)]),
  );
  if (!isMap(properties)) return others;
  const open = 'additionalProperties' in rest || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    ...others,
    properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, strict(one)])),
    // Branches of a choice repeat properties of the enclosing schema.
    ...(open || schema.type !== 'object' ? {} : { additionalProperties: false }),
  };
}
