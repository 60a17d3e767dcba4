import type { GroupVersionKind, JsonSchema } from '@cluster-apiserver/model/schema';
import type { Steps } from '../encoding/sliced-body.ts';
import type { DocumentPart } from './document-parts.ts';
import type { Operation3, Parameter3, PathItem3 } from './version-3.ts';

/** Formats the parts of documents as an HTML page without external resources. */
export function* formatReferencePage(version: string, parts: Iterable<DocumentPart<PathItem3>>): Steps {
  const operations: PathOperation[] = [];
  const schemas = new Map<string, JsonSchema>();
  for (const part of parts) {
    if (part && 'path' in part) operations.push(...operationsOf(part.path, part.item));
    else if (part) schemas.set(part.definition, part.schema);
    yield;
  }
  yield `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<style>${style}</style>
</head>
<body>
<nav>
<h2>Operations</h2>
`;
  for (const [tag, ofTag] of Map.groupBy(operations, (operation) => operation.tag))
    yield formatFold(
      tag,
      ofTag.map(({ operationId }) => [operationId, operationId.replace(groupIn(tag), ' ')]),
    );
  yield `<h2>Objects</h2>
${formatFold(
  'Fields by type',
  [...schemas.keys()].map((name) => [name, shortName(name)]),
)}</nav>
<main>
<h1>API reference</h1>
<p>Version ${escapeHtml(version)}. The same for programs: <a href="/openapi/v3">OpenAPI 3</a>, <a href="/openapi/v2">OpenAPI 2</a>.</p>
`;
  for (const operation of operations) yield `${operationSection(operation)}\n`;
  for (const [name, schema] of schemas) yield `${schemaSection(name, schema)}\n`;
  yield `</main>
</body>
</html>
`;
}

interface PathOperation extends Operation3 {
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly pathParameters: readonly Parameter3[];
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

const operationsOf = (path: string, item: PathItem3): PathOperation[] =>
  methods.flatMap((method) => {
    const operation = item[method];
    return operation
      ? [{ ...operation, method, path, tag: operation.tags.join(' '), pathParameters: item.parameters ?? [] }]
      : [];
  });

const operationSection = (operation: PathOperation): string => `<section id="${escapeHtml(operation.operationId)}">
<h2>${escapeHtml(operation.description)}</h2>
<p><code><b>${operation.method.toUpperCase()}</b> ${escapeHtml(operation.path)}</code></p>
${formatTable(['Parameter', 'In', 'Type', ''], [...operation.pathParameters, ...(operation.parameters ?? [])].map(parameterRow))}
${operation.requestBody ? `<p>Body: ${describeContent(operation.requestBody.content)}</p>` : ''}
${formatTable(
  ['Answer', '', 'Body'],
  Object.entries(operation.responses).map(([code, { description, content }]) => [
    code,
    escapeHtml(description),
    content ? describeContent(content) : '',
  ]),
)}
</section>`;

const parameterRow = ({ name, in: place, schema, description }: Parameter3): string[] => [
  `<code>${escapeHtml(name)}</code>`,
  place,
  describeType(schema),
  escapeHtml(description),
];

/** The schemas of a body with their media types, which are grouped by schema. */
const describeContent = (content: Readonly<Record<string, { readonly schema: JsonSchema }>>): string =>
  [...Map.groupBy(Object.entries(content), ([, { schema }]) => describeType(schema))]
    .map(([form, types]) => `${form} as ${types.map(([type]) => `<code>${escapeHtml(type)}</code>`).join(', ')}`)
    .join('; ');

const schemaSection = (name: string, schema: JsonSchema): string => `<section id="${escapeHtml(name)}">
<h2>${escapeHtml(shortName(name))}</h2>
<p>${kindsOf(schema)
  .map(({ group, version, kind }) => `<code>${escapeHtml(`${group ? `${group}/` : ''}${version} ${kind}`)}</code> `)
  .join('')}${escapeHtml(schema.description ?? '')}</p>
${formatTable(
  ['Field', 'Type', ''],
  Object.entries(schema.properties ?? {}).map(([field, form]) => [
    `<code>${escapeHtml(field)}</code>${schema.required?.includes(field) ? ' (required)' : ''}`,
    describeType(form),
    escapeHtml(form.description ?? ''),
  ]),
)}
</section>`;

const kindsOf = (schema: JsonSchema): readonly GroupVersionKind[] => schema['x-kubernetes-group-version-kind'] ?? [];

function describeType({ $ref, allOf, type, format, items, additionalProperties }: JsonSchema): string {
  const referred = $ref ?? allOf?.[0]?.$ref;
  if (referred !== undefined) {
    const name = referred.slice(referred.lastIndexOf('/') + 1);
    return `<a href="#${escapeHtml(name)}">${escapeHtml(shortName(name))}</a>`;
  }
  if (items) return `list of ${describeType(items)}`;
  if (additionalProperties) return `map of ${describeType(additionalProperties)}`;
  return escapeHtml(format ?? type ?? '');
}

const shortName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The words of a tag, such as `apps_v1`, as its operations contain them. */
const groupIn = (tag: string): string => tag.replaceAll(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase());

/** Links with their texts. Searching the page opens them. */
const formatFold = (title: string, links: readonly (readonly [id: string, text: string])[]): string =>
  `<details><summary>${escapeHtml(title)}</summary><ul>${links
    .map(([id, text]) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`)
    .join('')}</ul></details>\n`;

const formatTable = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}</table>`;

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const style = `
body { display: flex; margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff; }
nav { flex: 0 0 20rem; height: 100vh; overflow: auto; position: sticky; top: 0; box-sizing: border-box; padding: 1rem; background: #f3f5f8; font-size: 0.875rem; }
summary { padding: 0.25rem 0; cursor: pointer; font-weight: 600; }
nav ul { list-style: none; margin: 0; padding: 0 0 0.5rem 1rem; overflow-wrap: anywhere; }
main { flex: 1; min-width: 0; max-width: 64rem; padding: 1rem 2rem; }
section { border-top: 1px solid #d5dae2; }
table { border-collapse: collapse; width: 100%; margin: 0.75rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; border-bottom: 1px solid #e6e9ee; }
code { font: 0.875em ui-monospace, monospace; }
a { color: #0b57b0; }
@media (max-width: 50rem) { body { display: block; } nav { height: auto; position: static; } }
@media (prefers-color-scheme: dark) {
  body { color: #dbe1ea; background: #12161c; } nav { background: #1a2029; } a { color: #7db4ff; }
  section, th, td { border-color: #2c3542; }
}
`;
