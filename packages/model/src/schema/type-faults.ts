import { unreachable } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { keysOfEntry } from './list-entries.ts';
import { isSharedList, type ListSchema, memberSchema, type ObjectSchema, type Schema } from './schema.ts';

/** Each fault names its path, so a message with all of them could be far larger than the configuration. */
const faultsMax = 100;
/** Names, keys and values come from the client. */
const faultCharactersMax = 1024;

/**
 * Why a configuration cannot be applied to objects of a kind, in the words of kube-apiserver; undefined if no field is unknown or
 * has another type.
 */
export function describeTypeFaults(schema: ObjectSchema, configuration: JsonObject): string | undefined {
  const faults = findFaults(schema, configuration, '').take(faultsMax).map(shorten).toArray();
  return faults.length > 1 ? ['errors:', ...faults].join('\n  ') : faults[0];
}

function* findFaults(schema: Schema, value: unknown, path: string): Generator<string, void> {
  if (value === null || value === undefined) return;
  switch (schema.type) {
    case 'any':
      return;
    case 'string':
    case 'bytes':
    case 'quantity':
      if (typeof value !== 'string')
        yield `${path}: expected string, got &value.valueUnstructured{Value:${formatInGoSyntax(value)}}`;
      return;
    case 'boolean':
      if (typeof value !== 'boolean') yield `${path}: expected boolean, got ${formatValue(value)}`;
      return;
    case 'int32':
    case 'int64':
    case 'double':
      if (typeof value !== 'number' && !isRawNumber(value))
        yield `${path}: expected numeric (int or float), got ${nameGoType(value)}`;
      return;
    case 'time':
    case 'microTime':
    case 'intOrString':
      if (isJsonObject(value) || Array.isArray(value)) yield `${path}: expected any scalar, got ${formatValue(value)}`;
      return;
    case 'map':
    case 'object':
      if (isJsonObject(value)) yield* findMemberFaults(schema, value, path);
      else yield `${path}: expected map, got ${formatValue(value)}`;
      return;
    case 'list':
      if (Array.isArray(value)) yield* findEntryFaults(schema, value, path);
      else yield `${path}: expected list, got ${formatValue(value)}`;
      return;
    default:
      unreachable(schema);
  }
}

function* findMemberFaults(
  schema: Extract<Schema, { type: 'map' | 'object' }>,
  members: JsonObject,
  path: string,
): Generator<string, void> {
  for (const [name, value] of Object.entries(members)) {
    const inner = schema.type === 'map' ? schema.values : memberSchema(schema, name);
    if (inner) yield* findFaults(inner, value, `${path}.${name}`);
    else yield `${path}.${name}: field not declared in schema`;
  }
}

function* findEntryFaults(schema: ListSchema, entries: readonly unknown[], path: string): Generator<string, void> {
  const taken = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const unnamed = findStepFault(schema, entry);
    if (unnamed !== undefined) {
      yield `${path}: element ${index}: ${unnamed}`;
      return;
    }
    const step = stepOf(schema, entry, index);
    if (taken.has(step)) yield `${path}: duplicate entries for key ${step}`;
    taken.add(step);
    yield* findFaults(schema.items, entry, path + step);
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

const shorten = (fault: string): string =>
  fault.length <= faultCharactersMax ? fault : `${fault.slice(0, faultCharactersMax)}…`;

/** As Go prints a value with `%v`. */
const formatValue = (value: unknown): string => `&{${formatInGo(value)}}`;

function formatInGo(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatInGo).join(' ')}]`;
  if (!isJsonObject(value)) return typeof value === 'string' ? value : formatScalar(value, '<nil>');
  return `map[${sortedMembers(value)
    .map(([name, held]) => `${name}:${formatInGo(held)}`)
    .join(' ')}]`;
}

/** As Go prints a value with `%#v`. */
function formatInGoSyntax(value: unknown): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(formatInGoSyntax).join(', ')}}`;
  if (!isJsonObject(value)) return formatScalar(value, 'interface {}(nil)');
  const members = sortedMembers(value).map(([name, held]) => `${JSON.stringify(name)}:${formatInGoSyntax(held)}`);
  return `map[string]interface {}{${members.join(', ')}}`;
}

const formatScalar = (value: unknown, nil: string): string => (value === null ? nil : JSON.stringify(value));

const sortedMembers = (members: JsonObject): [name: string, value: unknown][] =>
  Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));

function nameGoType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}
