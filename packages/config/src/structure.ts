import { createRequire } from 'node:module';
import type { Path } from '@cluster-apiserver/model';
import { isJsonObject, isRawNumber } from '@cluster-apiserver/model/json';
import type * as Ajv from 'ajv/dist/2020.js';
import type { ObjectSchema, Schema } from './schema.ts';

/** A violation of a schema. */
export interface StructureProblem {
  readonly path: Path;
  readonly message: string;
  /** Set if the problem is a key of the map at the path. */
  readonly key?: string;
  /** Whether the value cannot be read at all. If not, a problem of the reader at the same path is more specific. */
  readonly isUnreadable: boolean;
}

/** Loaded with the first file: loading takes 14 MB and 70 ms, and a server may have no configuration files. */
let ajv: Ajv.Ajv2020 | undefined;
/** Schemas are compiled on first use: one takes up to 100 ms. */
const compiled = new WeakMap<ObjectSchema, Ajv.ValidateFunction>();

/** All structural problems of a value. Messages never repeat values: they may be secrets. */
export function findStructureProblems(schema: ObjectSchema, value: unknown, path: Path): readonly StructureProblem[] {
  ajv ??= loadAjv();
  const validate = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  if (validate(dropNulls(schema, value))) return [];
  return (validate.errors ?? []).flatMap((error) => {
    const problem = toProblem(error);
    return problem ? [{ ...problem, path: [...path, ...stepsOf(error.instancePath), ...(problem.below ?? [])] }] : [];
  });
}

function loadAjv(): Ajv.Ajv2020 {
  const loaded: typeof Ajv = createRequire(import.meta.url)('ajv/dist/2020.js');
  return new loaded.Ajv2020({ allErrors: true, verbose: true });
}

/** A null member is equivalent to an absent one. Undeclared members stay: they are unknown whatever their value is. */
function dropNulls(schema: Schema, value: unknown): unknown {
  if (schema.type === 'array' && Array.isArray(value)) return value.map((item) => dropNulls(schema.items, item));
  if (schema.type !== 'object' || !isJsonObject(value)) return value;
  const declared = new Map(Object.entries(schema.properties));
  const members = Object.entries(value).filter(([name, member]) => member !== null || !declared.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, dropNulls(declared.get(name) ?? {}, member)]));
}

type Found = Omit<StructureProblem, 'path'> & { readonly below?: Path };

/** Undefined for a null list item: the reader reports it as absent. */
function toProblem({ keyword, params, data, parentSchema }: Ajv.ErrorObject): Found | undefined {
  const { additionalProperty, missingProperty, limit, type, allowedValues }: Readonly<Record<string, unknown>> = params;
  switch (keyword) {
    case 'type':
      if (data === null) return undefined;
      return { message: describeTypeMismatch(String(type), data), isUnreadable: true };
    case 'additionalProperties': {
      const key = String(additionalProperty);
      return { message: `unknown field ${describeName(key)}`, key, isUnreadable: true };
    }
    case 'required':
      return { message: 'Required value', below: [String(missingProperty)], isUnreadable: false };
    case 'enum': {
      if (typeof data !== 'string') return undefined; // its type is wrong
      const supported = Array.isArray(allowedValues) ? allowedValues.filter((one) => one !== '') : [];
      return {
        message: `Unsupported value: supported values: ${supported.map((one) => JSON.stringify(one)).join(', ')}`,
        isUnreadable: false,
      };
    }
    case 'pattern':
      return { message: notADuration, isUnreadable: false };
    case 'minimum':
    case 'maximum':
      return {
        message: isInt32Limit(limit) ? notInt32 : `must be ${params['comparison']} ${String(limit)}`,
        isUnreadable: false,
      };
    default:
      return {
        message: `must have ${keyword.startsWith('min') ? 'at least' : 'at most'} ${String(limit)} ${countedUnit(parentSchema)}`,
        isUnreadable: false,
      };
  }
}

export const notADuration = 'expected a duration such as 3s or 1m30s';
export const notInt32 = 'expected a whole number of 32 bits, got another number';

const isInt32Limit = (limit: unknown): boolean => limit === -(2 ** 31) || limit === 2 ** 31 - 1;
const countedUnit = (schema: Ajv.ErrorObject['parentSchema']): string =>
  schema?.['type'] === 'array' ? 'items' : 'fields';

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a number',
  array: 'a list',
  object: 'an object',
};

function describeTypeMismatch(type: string, data: unknown): string {
  const isNumber = typeof data === 'number' || isRawNumber(data);
  return type === 'integer' && isNumber ? notInt32 : `expected ${typeNames[type]}, got ${typeName(data)}`;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRawNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * Field names are shorter; keys in base64, which must not be shown, have at least 24 letters. In `key:SECRET`, with the
 * space forgotten, the name contains a secret.
 */
const shownLettersMax = 20;
const describeName = (name: string): string =>
  name.length > shownLettersMax || name.includes(':') ? `of ${name.length} letters` : JSON.stringify(name);

/** The steps of a JSON pointer. Field names contain no characters that a pointer escapes, and are no numbers. */
const stepsOf = (pointer: string): Path =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
