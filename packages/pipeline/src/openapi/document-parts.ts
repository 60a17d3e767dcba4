import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { Dialect, JsonSchema } from '@cluster-apiserver/model/schema';
import { collectDefinitions } from '@cluster-apiserver/model/schema';
import { countValues } from '@cluster-apiserver/model/validation';
import { type Operation, operationsOf, schemasOf } from './operations.ts';

/** A path or a definition of a document; undefined where others may run. */
export type DocumentPart<PathItem> =
  | { readonly path: string; readonly item: PathItem }
  | { readonly definition: string; readonly schema: JsonSchema }
  | undefined;

/** All paths, kind by kind, and then all definitions by their names. Each takes a millisecond at most. */
export function* documentParts<PathItem>(
  kinds: readonly (ApiVersion | Review)[],
  dialect: Dialect,
  formatPathItem: (path: string, operations: readonly Operation[]) => PathItem,
): Generator<DocumentPart<PathItem>, void> {
  const definitions = new Map<string, JsonSchema>();
  for (const kind of kinds) {
    const operations = operationsOf(kind);
    for (const [path, atPath] of Map.groupBy(operations, (operation) => operation.path))
      yield { path, item: formatPathItem(path, atPath) };
    for (const [name, schema] of Object.entries(yield* collectDefinitions(operations.flatMap(schemasOf), dialect)))
      definitions.set(name, schema);
    yield;
  }
  for (const [definition, schema] of [...definitions].sort(([left], [right]) => (left < right ? -1 : 1)))
    yield { definition, schema };
}

/** The JSON of a document in pieces; `between` its paths and definitions, and at the `end`. */
export function* documentJson(
  begin: object,
  parts: Iterable<DocumentPart<object>>,
  { between, end }: { readonly between: string; readonly end: string },
): Generator<string | undefined, void> {
  yield `${JSON.stringify(begin).slice(0, -1)},"paths":{`;
  let separator = '';
  let isDefining = false;
  for (const part of parts) {
    if (!part) {
      yield;
      continue;
    }
    if ('definition' in part && !isDefining) {
      yield `},${between}{`;
      separator = '';
      isDefining = true;
    }
    yield `${separator}${JSON.stringify('path' in part ? part.path : part.definition)}:`;
    if ('path' in part) yield JSON.stringify(part.item);
    else yield* jsonPieces(part.schema);
    separator = ',';
  }
  yield `${isDefining ? '' : `},${between}{`}}${end}}`;
}

/** Values that are written in one step, which takes a millisecond. */
const valuesPerStep = 2_000;

/** JSON.stringify in pieces that hold a bounded number of values. */
function* jsonPieces(value: unknown): Generator<string> {
  if (!isLarge(value)) {
    yield JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  yield isList ? '[' : '{';
  let separator = '';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield isList ? separator : `${separator}${JSON.stringify(name)}:`;
    yield* jsonPieces(member);
    separator = ',';
  }
  yield isList ? ']' : '}';
}

export const isLarge = (value: unknown): value is object => countValues(value, valuesPerStep) > valuesPerStep;
