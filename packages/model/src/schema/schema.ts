import { invariant, type SyncTask } from '@cluster-apiserver/base';
import type { ValueRules } from './value-rules.ts';
import { isJsonObject } from '../json/json-object.ts';
import type { Integer } from '../json/raw-number.ts';
import type { Problems } from '../problems.ts';
import type { GroupVersionKind } from './group-version-kind.ts';
import type { Dialect, JsonSchema } from './open-api.ts';

/**
 * Schemas of objects, as data. Decoding with its type errors, pruning of unknown fields, the canonical form, field
 * ownership, strategic merge, protobuf and OpenAPI follow from one schema.
 */
export type Schema =
  | StringSchema
  | BytesSchema
  | BooleanSchema
  | Int32Schema
  | Int64Schema
  | DoubleSchema
  | IntOrStringSchema
  | QuantitySchema
  | TimeSchema
  | MapSchema
  | ListSchema
  | ObjectSchema
  | AnySchema;

/** What every schema may say besides its type. */
export interface Constraints {
  /** The canonical value of a field that is absent. */
  readonly default?: unknown;
  /** Null is a value. Elsewhere it means that a field is unset. */
  readonly nullable?: boolean;
  readonly rules?: ValueRules;
  /** Validates a value of the right type, for decoding that finds all problems of a file. */
  readonly validate?: (value: unknown, problems: Problems) => void;
  /** Rules in an expression language, compiled by the package that made the schema, which evaluates them. */
  readonly expressions?: unknown;
}

export interface StringSchema<Value extends string = string> extends Constraints {
  readonly type: 'string';
  /** Exists for the compiler only: the type of the values, see `ValueOf`. */
  readonly valueType?: Value;
}
/** Base64 in JSON. */
export interface BytesSchema extends Constraints {
  readonly type: 'bytes';
}
export interface BooleanSchema extends Constraints {
  readonly type: 'boolean';
}
export interface Int32Schema extends Constraints {
  readonly type: 'int32';
}
/** Beyond 2^53 a value is a raw number, see json/raw-number.ts. */
export interface Int64Schema extends Constraints {
  readonly type: 'int64';
}
export interface DoubleSchema extends Constraints {
  readonly type: 'double';
}
/** A number or a text, such as a port or its name. */
export interface IntOrStringSchema extends Constraints {
  readonly type: 'intOrString';
}
/** An amount such as `500m`, see quantity.ts. Numbers are taken, and texts shown. */
export interface QuantitySchema extends Constraints {
  readonly type: 'quantity';
}
/** `time` has whole seconds, `microTime` six decimal places. Both are in UTC, and null if unset. */
export interface TimeSchema extends Constraints {
  readonly type: 'time' | 'microTime';
}
/** Keys chosen by the client, such as labels. */
export interface MapSchema<Values extends Schema = Schema> extends Constraints {
  readonly type: 'map';
  readonly values: Values;
}
export interface ListSchema<Items extends Schema = Schema> extends Constraints {
  readonly type: 'list';
  readonly items: Items;
  /** Ownership of the list: as a whole, or by entry, which its value or its key fields identify. */
  readonly sharing: 'atomic' | 'set' | KeyedSharing;
}
export interface KeyedSharing {
  /** The fields that identify an entry together; the default of a field stands for an absent one. */
  readonly keys: readonly [string, ...string[]];
  /** A strategic merge patch replaces the list. Otherwise it merges entries by the first key. */
  readonly isReplacedByPatch?: boolean;
}
/** A list whose entries may have different owners. */
export type SharedListSchema = ListSchema & { readonly sharing: Exclude<ListSchema['sharing'], 'atomic'> };

export const isSharedList = (schema: Schema | undefined): schema is SharedListSchema =>
  schema?.type === 'list' && schema.sharing !== 'atomic';

export interface ObjectSchema<Value = unknown> extends Constraints {
  readonly type: 'object';
  /** Exists for the compiler only: the type of the values, see `ValueOf`. */
  readonly valueType?: Value;
  readonly fields: ReadonlyMap<string, Field>;
  /** One writer owns the whole object. */
  readonly atomic: boolean;
  /** Of members that are no declared fields. Without it they are pruned. */
  readonly rest?: Schema;
  /** Of a value that is no object, where the type is one of two. */
  readonly otherwise?: Otherwise;
  /** An object of a structural schema, see structural.ts. */
  readonly structural?: Structural;
  readonly embedded?: Embedded;
  /** Documents define it once, under this name; a form without one is written out where it is used. */
  readonly publication?: Publication;
  /** The versions in which the fields of a kind may be named, by apiVersion; absent where any may. */
  readonly versions?: ReadonlyMap<string, FieldNames>;
}
/** In protobuf, values of both types are fields of one message. */
export interface Otherwise {
  readonly schema: Schema;
  readonly number: number;
  /** The number of the object. */
  readonly objectNumber: number;
}
/** Fields that are inlined in JSON, and a message of their own in protobuf, like an embedded struct in Go. */
export interface Embedded<Value = unknown> {
  readonly schema: ObjectSchema<Value>;
  /** The number of the message in protobuf. */
  readonly number: number;
}
/** The fields that have another name in one version than in the stored one. */
export interface FieldNames {
  readonly toStored: ReadonlyMap<string, string>;
  readonly fromStored: ReadonlyMap<string, string>;
}
/** What OpenAPI says about an object besides its fields. */
export interface Publication {
  /** The name in upstream's OpenAPI, which client generators rely on, such as `io.k8s.api.core.v1.Event`. */
  readonly name: string;
  readonly description: string;
  /** Fields without which the object is refused. */
  readonly required?: readonly string[];
  /** The kind whose objects have this form. */
  readonly groupVersionKind?: GroupVersionKind;
  /** Writes the definition, if it says more than the schema. */
  readonly document?: (dialect: Dialect) => SyncTask<JsonSchema>;
}
/** Whatever the client sent, such as the field sets in managedFields. */
export interface AnySchema extends Constraints {
  readonly type: 'any';
  /**
   * `owned`: it has no single owner, but is what its value is: an object is owned member by member. `emptied`: the same,
   * and objects in it are kept without their members.
   */
  readonly contents?: 'owned' | 'emptied';
}
/**
 * An object that keeps all that it was given, also empty values, with its members in the order of their names. Values of
 * wrong types are kept for validation, which reports all of them.
 */
export interface Structural {
  /** These members come before all others. */
  readonly first: readonly string[];
  /** The fields that are there although they were not given. */
  readonly added: readonly string[];
  /** It has the type names and the metadata of a resource. */
  readonly embeddedResource: boolean;
}
/** A value with members, which may have different owners. */
export type MembersSchema = ObjectSchema | MapSchema | AnySchema;

/** The schema of a member; undefined for one that is pruned. */
export function memberSchema(schema: MembersSchema, name: string): Schema | undefined {
  if (schema.type === 'object') return schema.fields.get(name)?.schema ?? schema.rest;
  return schema.type === 'map' ? schema.values : schema;
}

/** Whether writers share the value by its members. One of another type than the schema's is a whole, like a text. */
export const hasSharedMembers = (schema: Schema, value: unknown): schema is MembersSchema =>
  (schema.type === 'object'
    ? !schema.atomic
    : schema.type === 'map' || (schema.type === 'any' && schema.contents !== undefined)) && isJsonObject(value);

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string;
  readonly presence: Presence;
  /** The number in protobuf. It never changes, and no other field of the object ever has it. */
  readonly number?: number;
  /** What to say if it is required and missing. */
  readonly missing?: string;
}

/**
 * When a field is part of a response. `filled`: unless it is zero, empty or null. `given`: if the client sent it, so that
 * false and 0 differ from unset. `always`: with its zero value if it is unset. `nullIfEmpty`: always, as null if it is
 * empty; Go clients expect null where upstream has a nil slice. `writeOnly`: never; the defaults of its kind put what the
 * client sent elsewhere. `required`: an object without it, or with an empty text or list, is refused.
 */
export type Presence = 'filled' | 'given' | 'always' | 'nullIfEmpty' | 'writeOnly' | 'required';

/** A field as it is declared; its name is its key in the declaration. */
export interface FieldDeclaration<S extends Schema = Schema, P extends Presence = Presence> {
  readonly schema: S;
  readonly description: string;
  readonly presence: P;
  readonly number?: number;
  readonly missing?: string;
}
export type FieldDeclarations = Readonly<Record<string, FieldDeclaration>>;

/** The TypeScript type of the canonical values of a schema. */
export type ValueOf<S extends Schema> = Schema extends S
  ? unknown
  : S extends BytesSchema | TimeSchema | QuantitySchema
    ? string
    : S extends StringSchema<infer Value>
      ? Value
      : S extends BooleanSchema
        ? boolean
        : S extends Int32Schema | DoubleSchema
          ? number
          : S extends Int64Schema
            ? Integer
            : S extends IntOrStringSchema
              ? number | string
              : S extends MapSchema<infer Values>
                ? Record<string, ValueOf<Values>>
                : S extends ListSchema<infer Items>
                  ? ValueOf<Items>[]
                  : S extends ObjectSchema<infer Value>
                    ? Value
                    : unknown;

/** The TypeScript type of an object with these fields. */
export type FieldValues<F extends FieldDeclarations> = Flat<
  { [Name in keyof F as IsAlwaysPresent<F[Name]> extends true ? Name : never]: FieldValue<F[Name]> } & {
    [Name in keyof F as IsAlwaysPresent<F[Name]> extends true ? never : Name]?: FieldValue<F[Name]>;
  }
>;

type FieldValue<F extends FieldDeclaration> = ValueOf<F['schema']> | (IsNullable<F> extends true ? null : never);
type IsAlwaysPresent<F extends FieldDeclaration> = F['presence'] extends 'always' | 'nullIfEmpty' | 'required'
  ? true
  : false;
/** A time that is always present is null if it is unset. */
type IsNullable<F extends FieldDeclaration> = F extends { readonly presence: 'nullIfEmpty' }
  ? true
  : F extends { readonly presence: 'always'; readonly schema: TimeSchema }
    ? true
    : false;
/** One object type instead of an intersection: the compiler shows and compares it faster. */
type Flat<T> = { [Name in keyof T]: T[Name] };

export const string: StringSchema = { type: 'string' };
export const bytes: BytesSchema = { type: 'bytes' };
export const boolean: BooleanSchema = { type: 'boolean' };
export const int32: Int32Schema = { type: 'int32' };
export const int64: Int64Schema = { type: 'int64' };
export const double: DoubleSchema = { type: 'double' };
export const intOrString: IntOrStringSchema = { type: 'intOrString' };
export const quantity: QuantitySchema = { type: 'quantity' };
export const time: TimeSchema = { type: 'time' };
export const microTime: TimeSchema = { type: 'microTime' };
export const any: AnySchema = { type: 'any' };

export const list = <Items extends Schema>(items: Items, sharing: ListSchema['sharing']): ListSchema<Items> => ({
  type: 'list',
  items,
  sharing,
});

export const map = <Values extends Schema>(values: Values): MapSchema<Values> => ({ type: 'map', values });
export const stringMap = map(string);
export const listMap = map(list(string, 'atomic'));

/** A field with its protobuf number. */
export function field<S extends Schema>(number: number, schema: S, description: string): FieldDeclaration<S, 'filled'>;
export function field<S extends Schema, P extends Presence>(
  number: number,
  schema: S,
  description: string,
  presence: P,
): FieldDeclaration<S, P>;
export function field(
  number: number,
  schema: Schema,
  description: string,
  presence: Presence = 'filled',
): FieldDeclaration {
  return { schema, description, presence, number };
}

/** A field without a protobuf number. Protobuf messages leave it out, and its kind is served as JSON and YAML only. */
export function jsonField<S extends Schema>(schema: S, description: string): FieldDeclaration<S, 'filled'>;
export function jsonField<S extends Schema, P extends Presence>(
  schema: S,
  description: string,
  presence: P,
): FieldDeclaration<S, P>;
export function jsonField(schema: Schema, description: string, presence: Presence = 'filled'): FieldDeclaration {
  return { schema, description, presence };
}

/** A shared field with the number that it has in one of its messages. */
export const withNumber = <F extends FieldDeclaration>(number: number, shared: F): F => ({ ...shared, number });

/** The order of the fields here is their order in every response. */
export function object<F extends FieldDeclarations, Embeds = unknown>(
  declarations: F,
  options: {
    readonly atomic?: boolean;
    readonly publication?: Publication;
    readonly versions?: ReadonlyMap<string, FieldNames>;
    /** Its fields follow the object's own. */
    readonly embedded?: Embedded<Embeds>;
  } = {},
): ObjectSchema<FieldValues<F> & Embeds> {
  const fields = new Map<string, Field>();
  for (const [name, declaration] of Object.entries(declarations)) {
    invariant(!(name in Object.prototype), `every object inherits ${name}, so an absent field would look present`);
    fields.set(name, { name, ...declaration });
  }
  for (const [name, embedded] of embeddedFields(options.embedded)) fields.set(name, embedded);
  return {
    type: 'object',
    fields,
    atomic: options.atomic ?? false,
    ...(options.embedded && { embedded: options.embedded }),
    ...(options.publication && { publication: options.publication }),
    ...(options.versions && { versions: options.versions }),
  };
}

/** Without their numbers, which belong to another message. */
const embeddedFields = (embedded: Embedded | undefined): [string, Field][] =>
  [...(embedded?.schema.fields ?? [])].map(([name, { schema, description, presence }]) => [
    name,
    { name, schema, description, presence },
  ]);

/** From the names of a version, each with that of the same field in the stored version. */
export const fieldNames = (renamed: Readonly<Record<string, string>>): FieldNames => ({
  toStored: new Map(Object.entries(renamed)),
  fromStored: new Map(Object.entries(renamed).map(([there, stored]) => [stored, there])),
});
