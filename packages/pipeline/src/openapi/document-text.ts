import type { SyncTask } from '@cluster-apiserver/base';
import type { ApiVersion, Dialect, JsonSchema, Review } from '@cluster-apiserver/model';
import { collectDefinitions } from '@cluster-apiserver/model';
import { type Operation, operationsOf, schemasOf } from './operations.ts';

/** The paths and the definitions of a document as JSON texts, in steps: each kind is one. */
export function* documentParts(
  kinds: readonly (ApiVersion | Review)[],
  dialect: Dialect,
  formatPathItem: (path: string, operations: readonly Operation[]) => object,
): SyncTask<{ readonly paths: string; readonly definitions: string }> {
  const paths: string[] = [];
  const definitions = new Map<string, JsonSchema>();
  for (const kind of kinds) {
    const operations = operationsOf(kind);
    for (const [path, atPath] of Map.groupBy(operations, (operation) => operation.path))
      paths.push(memberText(path, formatPathItem(path, atPath)));
    yield;
    for (const [name, schema] of Object.entries(collectDefinitions(operations.flatMap(schemasOf), dialect)))
      definitions.set(name, schema);
    yield;
  }
  const texts: string[] = [];
  for (const [name, schema] of [...definitions].sort(([left], [right]) => (left < right ? -1 : 1))) {
    texts.push(memberText(name, schema));
    yield;
  }
  return { paths: `{${paths.join(',')}}`, definitions: `{${texts.join(',')}}` };
}

const memberText = (name: string, value: object): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`;
