import { unreachable } from '@cluster-apiserver/base';
import { isJsonObject, isRawNumber, type JsonObject } from '@cluster-apiserver/model/json';
import {
  isSharedList,
  keysOfEntry,
  type ListSchema,
  memberSchema,
  type ObjectSchema,
  type Schema,
} from '@cluster-apiserver/model/schema';

/** Each fault names its path, so a message with all of them could be far larger than the configuration. */
const faultsMax = 100;

/**
 * Why an apply configuration cannot be merged into objects of a kind, in the words of kube-apiserver; undefined if it can.
 * Atomic fields are refused: they would replace values that the policy does not know.
 */
export function findApplyFault(schema: ObjectSchema, configuration: JsonObject): string | undefined {
  const faults = findTypeFaults(schema, configuration, '').slice(0, faultsMax);
  const [only] = faults;
  if (only !== undefined) {
    const message = faults.length === 1 ? only : ['errors:', ...faults.map((fault) => `  ${fault}`)].join('\n');
    return `failed to convert patch object to typed object: ${message}`;
  }
  const atomics = findAtomicPaths(schema, configuration, '').slice(0, faultsMax);
  return atomics.length === 0
    ? undefined
    : `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`;
}

function findTypeFaults(schema: Schema, value: unknown, path: string): string[] {
  if (value === null || value === undefined) return [];
  const wrong = (problem: string): string[] => [`${path}: ${problem}`];
  switch (schema.type) {
    case 'any':
      return [];
    case 'string':
    case 'bytes':
    case 'quantity':
      return typeof value === 'string'
        ? []
        : wrong(`expected string, got &value.valueUnstructured{Value:${formatAsGo(value)}}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : wrong(`expected boolean, got &{${formatAsGo(value)}}`);
    case 'int32':
    case 'int64':
    case 'double':
      return typeof value === 'number' ? [] : wrong(`expected numeric (int or float), got ${getGoType(value)}`);
    case 'time':
    case 'microTime':
    case 'intOrString':
      return typeof value === 'object' ? wrong(`expected any scalar, got &{${formatAsGo(value)}}`) : [];
    case 'map':
      if (!isJsonObject(value)) return wrong(`expected map, got &{${formatAsGo(value)}}`);
      return Object.entries(value).flatMap(([key, held]) => findTypeFaults(schema.values, held, `${path}.${key}`));
    case 'object':
      if (!isJsonObject(value)) return wrong(`expected map, got &{${formatAsGo(value)}}`);
      return Object.entries(value).flatMap(([name, held]) => {
        const inner = memberSchema(schema, name);
        return inner
          ? findTypeFaults(inner, held, `${path}.${name}`)
          : [`${path}.${name}: field not declared in schema`];
      });
    case 'list':
      if (!Array.isArray(value)) return wrong(`expected list, got &{${formatAsGo(value)}}`);
      return findListFaults(schema, value, path);
    default:
      return unreachable(schema);
  }
}

function findListFaults(schema: ListSchema, list: readonly unknown[], path: string): string[] {
  const taken = new Set<string>();
  return list.flatMap((element, index) => {
    const step = stepOf(schema, element, index);
    if (step === undefined)
      return [`${path}: element ${index}: associative list with keys ${findKeyProblem(schema, element)}`];
    const repeated =
      schema.sharing !== 'atomic' && taken.has(step) ? [`${path}: duplicate entries for key ${step}`] : [];
    taken.add(step);
    return [...repeated, ...findTypeFaults(schema.items, element, path + step)];
  });
}

function findKeyProblem(schema: ListSchema, element: unknown): string {
  if (!isJsonObject(element)) return `may not have ${element === null ? 'a null element' : 'non-map elements'}`;
  return `has an element that omits all key fields [${keyNames(schema)}] (and doesn't have default values for any key fields)`;
}

const keyNames = ({ sharing }: ListSchema): string =>
  typeof sharing === 'object' ? sharing.keys.map((key) => JSON.stringify(key)).join(' ') : '';

/** How an element is named in a path; undefined when it lacks its key. */
function stepOf(schema: ListSchema, element: unknown, index: number): string | undefined {
  if (!isSharedList(schema)) return `[${index}]`;
  if (schema.sharing === 'set') return `[=${JSON.stringify(element)}]`;
  const keys = keysOfEntry(schema, element).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return keys.length === 0 ? undefined : `[${keys.join(',')}]`;
}

function findAtomicPaths(schema: Schema, value: unknown, path: string): string[] {
  if (schema.type === 'object' && isJsonObject(value))
    return [
      ...(schema.atomic ? [path] : []),
      ...Object.entries(value).flatMap(([name, held]) => {
        const inner = memberSchema(schema, name);
        return inner ? findAtomicPaths(inner, held, `${path}.${name}`) : [];
      }),
    ];
  if (schema.type === 'list' && Array.isArray(value))
    return [
      ...(schema.sharing === 'atomic' ? [path] : []),
      ...value.flatMap((element, index) => findAtomicPaths(schema.items, element, `${path}[${index}]`)),
    ];
  return [];
}

/** As Go prints a value. */
function formatAsGo(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatAsGo).join(' ')}]`;
  if (isRawNumber(value)) return value.rawJSON;
  if (!isJsonObject(value)) return String(value);
  const names = Object.keys(value).sort();
  return `map[${names.map((name) => `${name}:${formatAsGo(value[name])}`).join(' ')}]`;
}

function getGoType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}
