import { createRequire } from 'node:module';
import { isRawNumber } from '@cluster-apiserver/model';
import type * as Ajv from 'ajv/dist/2020.js';
import type { ObjectSchema } from './schema.ts';

/** Something that a schema refuses. */
export interface StructureProblem {
  readonly path: string;
  readonly message: string;
  /** The key of the map at the path that it is about. */
  readonly key?: string;
  /** Whether the value cannot be read at all. Whatever else is said of the same place says more than the schema can. */
  readonly isOfForm: boolean;
}

/** Loaded with the first file, because it takes 14 MB and 70 ms, and a server may have none. */
let ajv: Ajv.Ajv2020 | undefined;
/** A schema takes up to 100 ms, and is compiled for the same reason when it is needed. */
const compiled = new WeakMap<ObjectSchema, Ajv.ValidateFunction>();

/** All that is wrong with the structure of a value. Problems never repeat what is written there: it may be a secret. */
export function structureProblems(schema: ObjectSchema, value: unknown, path: string): readonly StructureProblem[] {
  ajv ??= loadAjv();
  const validate = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  if (validate(withoutNulls(value))) return [];
  return (validate.errors ?? []).flatMap((error) => {
    const problem = problemOf(error);
    return problem ? [{ ...problem, path: joined(path, error.instancePath, problem.below) }] : [];
  });
}

function loadAjv(): Ajv.Ajv2020 {
  const loaded = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof Ajv;
  return new loaded.Ajv2020({ allErrors: true, verbose: true });
}

/** A member that is null is one that is absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !isRawNumber(value);

type Found = Omit<StructureProblem, 'path'> & { readonly below?: string };

/** Undefined for an item of a list that is null: that it is absent is said by whoever reads it. */
function problemOf({ keyword, params, data, parentSchema }: Ajv.ErrorObject): Found | undefined {
  const { additionalProperty, missingProperty, limit, type, allowedValues } = params as Record<string, unknown>;
  switch (keyword) {
    case 'type':
      if (data === null) return undefined;
      return { message: wrongType(String(type), data), isOfForm: true };
    case 'additionalProperties': {
      const key = String(additionalProperty);
      return { message: `unknown field ${shownName(key)}`, key, isOfForm: true };
    }
    case 'required':
      return { message: 'Required value', below: String(missingProperty), isOfForm: false };
    case 'enum': {
      if (typeof data !== 'string') return undefined; // its type is wrong
      const supported = (allowedValues as readonly unknown[]).filter((one) => one !== '');
      return {
        message: `Unsupported value: supported values: ${supported.map((one) => JSON.stringify(one)).join(', ')}`,
        isOfForm: false,
      };
    }
    case 'pattern':
      return { message: notADuration, isOfForm: false };
    case 'minimum':
    case 'maximum':
      return {
        message: isOfInt32(limit) ? notInt32 : `must be ${params['comparison']} ${limit}`,
        isOfForm: false,
      };
    default:
      return {
        message: `must have ${keyword.startsWith('min') ? 'at least' : 'at most'} ${limit} ${counted(parentSchema)}`,
        isOfForm: false,
      };
  }
}

export const notADuration = 'expected a duration such as 3s or 1m30s';
export const notInt32 = 'expected a whole number of 32 bits, got another number';

const isOfInt32 = (limit: unknown): boolean => limit === -(2 ** 31) || limit === 2 ** 31 - 1;
const counted = (schema: Ajv.ErrorObject['parentSchema']): string =>
  schema?.['type'] === 'array' ? 'items' : 'fields';

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a number',
  array: 'a list',
  object: 'an object',
};

function wrongType(type: string, data: unknown): string {
  const isNumber = typeof data === 'number' || isRawNumber(data);
  return type === 'integer' && isNumber ? notInt32 : `expected ${typeNames[type]}, got ${typeName(data)}`;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRawNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Keys have 24 letters and more in base64, and fields have fewer. */
const shownLettersMax = 20;
const shownName = (name: string): string =>
  name.length > shownLettersMax ? `of ${name.length} letters` : JSON.stringify(name);

/** As sentences have it, `jwt[0].issuer`, of what a JSON pointer says. Names of fields have nothing that it escapes. */
function joined(path: string, pointer: string, below = ''): string {
  const steps = [...pointer.split('/').slice(1), ...(below === '' ? [] : [below])];
  return steps.reduce((sum, step) => {
    if (/^\d+$/.test(step)) return `${sum}[${step}]`;
    return sum === '' ? step : `${sum}.${step}`;
  }, path);
}
