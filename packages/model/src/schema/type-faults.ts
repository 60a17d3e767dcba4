import { runSync, type SyncTask, unreachable } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { keysOfEntry } from './list-entries.ts';
import { isSharedList, type ListSchema, memberSchema, type ObjectSchema, type Schema } from './schema.ts';

/** Each fault names its path, so a message with all of them could be far larger than the configuration. */
const faultsMax = 100;
/** Names, keys and values come from the client. */
const shownCharactersMax = 256;
const faultCharactersMax = 1024;

/** As `describeTypeFaultsInSteps`. */
export const describeTypeFaults = (schema: ObjectSchema, configuration: JsonObject): string | undefined =>
  runSync(describeTypeFaultsInSteps(schema, configuration));

/**
 * Why a configuration cannot be applied to objects of a kind, in the words of kube-apiserver; undefined if no field is unknown or
 * has another type.
 */
export function* describeTypeFaultsInSteps(
  schema: ObjectSchema,
  configuration: JsonObject,
): SyncTask<string | undefined> {
  const found: string[] = [];
  yield* findFaults(schema, configuration, '', found);
  const faults = found.slice(0, faultsMax).map((fault) => shorten(fault, faultCharactersMax));
  return faults.length > 1 ? ['errors:', ...faults].join('\n  ') : faults[0];
}

function* findFaults(schema: Schema, value: unknown, path: string, found: string[]): SyncTask<void> {
  if (found.length >= faultsMax || value === null || value === undefined) return;
  switch (schema.type) {
    case 'map':
    case 'object':
      if (isJsonObject(value)) yield* findMemberFaults(schema, value, path, found);
      else found.push(`${path}: expected map, got ${formatValue(value)}`);
      return;
    case 'list':
      if (Array.isArray(value)) yield* findEntryFaults(schema, value, path, found);
      else found.push(`${path}: expected list, got ${formatValue(value)}`);
      return;
    default: {
      const fault = findScalarFault(schema, value);
      if (fault !== undefined) found.push(`${path}: ${fault}`);
    }
  }
}

type ScalarSchema = Exclude<Schema, { readonly type: 'map' | 'object' | 'list' }>;

function findScalarFault(schema: ScalarSchema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'any':
      return undefined;
    case 'string':
    case 'bytes':
    case 'quantity':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${join(piecesInGoSyntax(value))}}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got ${formatValue(value)}`;
    case 'int32':
    case 'int64':
    case 'double':
      return typeof value === 'number' || isRawNumber(value)
        ? undefined
        : `expected numeric (int or float), got ${nameGoType(value)}`;
    case 'time':
    case 'microTime':
    case 'intOrString':
      return isJsonObject(value) || Array.isArray(value) ? `expected any scalar, got ${formatValue(value)}` : undefined;
    default:
      return unreachable(schema);
  }
}

function* findMemberFaults(
  schema: Extract<Schema, { type: 'map' | 'object' }>,
  members: JsonObject,
  path: string,
  found: string[],
): SyncTask<void> {
  for (const [name, value] of Object.entries(members)) {
    const inner = schema.type === 'map' ? schema.values : memberSchema(schema, name);
    const place = `${path}.${shorten(name, shownCharactersMax)}`;
    if (inner) yield* findFaults(inner, value, place, found);
    else if (found.length < faultsMax) found.push(`${place}: field not declared in schema`);
    yield;
  }
}

function* findEntryFaults(
  schema: ListSchema,
  entries: readonly unknown[],
  path: string,
  found: string[],
): SyncTask<void> {
  const taken = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const unnamed = findStepFault(schema, entry);
    if (unnamed !== undefined) {
      found.push(`${path}: element ${index}: ${unnamed}`);
      return;
    }
    const step = stepOf(schema, entry, index);
    if (taken.has(step)) found.push(`${path}: duplicate entries for key ${shorten(step, shownCharactersMax)}`);
    taken.add(step);
    yield* findFaults(schema.items, entry, path + shorten(step, shownCharactersMax), found);
    yield;
  }
}

/** Why nothing identifies an entry of a list that writers share. */
function findStepFault(schema: ListSchema, entry: unknown): string | undefined {
  if (!isSharedList(schema)) return undefined;
  if (schema.sharing === 'set') {
    if (entry === null) return "associative list without keys has an element that's an explicit null";
    if (isJsonObject(entry)) return "associative list without keys has an element that's a map type";
    return Array.isArray(entry) ? 'not supported: associative list with lists as elements' : undefined;
  }
  if (entry === null) return 'associative list with keys may not have a null element';
  if (!isJsonObject(entry)) return 'associative list with keys may not have non-map elements';
  if (keysOfEntry(schema, entry).length > 0) return undefined;
  const names = schema.sharing.keys.map((key) => JSON.stringify(key)).join(' ');
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`;
}

/** How an entry is named in a path. */
function stepOf(schema: ListSchema, entry: unknown, index: number): string {
  if (!isSharedList(schema)) return `[${index}]`;
  if (schema.sharing === 'set') return `[=${JSON.stringify(entry)}]`;
  const keys = keysOfEntry(schema, entry).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${keys.join(',')}]`;
}

const shorten = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`);

/** As Go prints a value with `%v`. */
const formatValue = (value: unknown): string => `&{${join(piecesInGo(value))}}`;

/** No more than a fault shows. */
function join(pieces: Iterable<string>): string {
  let text = '';
  for (const piece of pieces) {
    text += shorten(piece, faultCharactersMax);
    if (text.length > faultCharactersMax) break;
  }
  return text;
}

function* piecesInGo(value: unknown): Generator<string, void> {
  if (Array.isArray(value)) {
    yield '[';
    for (const [i, entry] of value.entries()) {
      if (i > 0) yield ' ';
      yield* piecesInGo(entry);
    }
    yield ']';
  } else if (isJsonObject(value)) {
    yield 'map[';
    for (const [i, [name, held]] of sortedMembers(value).entries()) {
      yield `${i > 0 ? ' ' : ''}${name}:`;
      yield* piecesInGo(held);
    }
    yield ']';
  } else yield typeof value === 'string' ? value : formatScalar(value, '<nil>');
}

/** As Go prints a value with `%#v`. */
function* piecesInGoSyntax(value: unknown): Generator<string, void> {
  if (Array.isArray(value)) {
    yield '[]interface {}{';
    for (const [i, entry] of value.entries()) {
      if (i > 0) yield ', ';
      yield* piecesInGoSyntax(entry);
    }
    yield '}';
  } else if (isJsonObject(value)) {
    yield 'map[string]interface {}{';
    for (const [i, [name, held]] of sortedMembers(value).entries()) {
      yield `${i > 0 ? ', ' : ''}${JSON.stringify(name)}:`;
      yield* piecesInGoSyntax(held);
    }
    yield '}';
  } else yield formatScalar(value, 'interface {}(nil)');
}

const formatScalar = (value: unknown, nil: string): string => (value === null ? nil : JSON.stringify(value));

const sortedMembers = (members: JsonObject): [name: string, value: unknown][] =>
  Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));

function nameGoType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}
