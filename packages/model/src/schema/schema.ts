import { invariant } from '@cluster-apiserver/base';

/**
 * The form of an object, as data. From one schema follow decoding with its type errors, pruning of what is unknown,
 * the canonical order and omission of fields, field ownership, strategic merge and the published documents.
 */
export type Schema =
  | StringSchema
  | BytesSchema
  | BooleanSchema
  | IntegerSchema
  | TimeSchema
  | MapSchema
  | ListSchema
  | ObjectSchema
  | AnySchema;

export interface StringSchema {
  readonly type: 'string';
}
/** Base64 in JSON. */
export interface BytesSchema {
  readonly type: 'bytes';
}
export interface BooleanSchema {
  readonly type: 'boolean';
}
export interface IntegerSchema {
  readonly type: 'int32' | 'int64';
}
/** `time` has whole seconds, `microTime` six digits behind the point; both are kept in UTC, and null when unset. */
export interface TimeSchema {
  readonly type: 'time' | 'microTime';
}
/** Keys chosen by the client, such as labels. */
export interface MapSchema {
  readonly type: 'map';
  readonly values: StringSchema | ListSchema;
}
export interface ListSchema {
  readonly type: 'list';
  readonly items: Schema;
  /** How two writers share the list: one owns it whole, or each owns entries, told apart by value or by a key. */
  readonly sharing: 'atomic' | 'set' | { readonly key: string };
}
export interface ObjectSchema {
  readonly type: 'object';
  readonly fields: ReadonlyMap<string, Field>;
  /** One writer owns the whole object. */
  readonly atomic: boolean;
  readonly embedded?: Embedded;
  /** Documents define it once, under this name; a form without one is written out where it is used. */
  readonly publication?: Publication;
  /** The versions in which the fields of a kind may be named, by apiVersion; absent where any may. */
  readonly versions?: ReadonlyMap<string, FieldNames>;
}
/** Fields that stand among those of the object around them, and are a message of their own in protobuf. */
export interface Embedded {
  readonly schema: ObjectSchema;
  /** What the message is called in protobuf. */
  readonly number: number;
}
/** The fields that have another name in one version than in the stored one. */
export interface FieldNames {
  readonly toStored: ReadonlyMap<string, string>;
  readonly fromStored: ReadonlyMap<string, string>;
}
/** What published documents say of a form besides its fields. */
export interface Publication {
  /** As Kubernetes publishes it, so that what clients generated from its documents fits: `io.k8s.api.core.v1.Event`. */
  readonly name: string;
  readonly description: string;
  /** Fields without which the object is refused. */
  readonly required?: readonly string[];
  /** The kind whose objects have this form. */
  readonly groupVersionKind?: GroupVersionKind;
}
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}
/** Whatever the client sent, such as the field sets in managedFields. */
export interface AnySchema {
  readonly type: 'any';
}

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string;
  /**
   * When a field is part of an answer. `filled`: when it holds something; zero, empty and null count as nothing.
   * `given`: when the client gave it, so that false and 0 differ from unset. `always`: with its zero value if need be.
   * `nullIfEmpty`: always, as null if it holds nothing; Go clients expect null where upstream has a nil slice.
   */
  readonly presence: 'filled' | 'given' | 'always' | 'nullIfEmpty';
  /** What the field is called in protobuf. It never changes, and no other field of the object ever has it. */
  readonly number?: number;
}

export const string: StringSchema = { type: 'string' };
export const bytes: BytesSchema = { type: 'bytes' };
export const boolean: BooleanSchema = { type: 'boolean' };
export const int32: IntegerSchema = { type: 'int32' };
export const int64: IntegerSchema = { type: 'int64' };
export const time: TimeSchema = { type: 'time' };
export const microTime: TimeSchema = { type: 'microTime' };
export const any: AnySchema = { type: 'any' };
export const stringMap: MapSchema = { type: 'map', values: string };

export const listMap: MapSchema = { type: 'map', values: { type: 'list', items: string, sharing: 'atomic' } };

export const list = (items: Schema, sharing: ListSchema['sharing']): ListSchema => ({ type: 'list', items, sharing });

export const field = (schema: Schema, description: string, presence: Field['presence'] = 'filled'): FieldForm => ({
  schema,
  description,
  presence,
});
export type FieldForm = Omit<Field, 'name' | 'number'>;

/** The order of the fields here is their order in every answer. */
export function object<Name extends string>(
  forms: Readonly<Record<Name, FieldForm>>,
  options: {
    readonly atomic?: boolean;
    readonly publication?: Publication;
    /** By field, in the order of the numbers. An object without them, or inside of one without them, has no protobuf. */
    readonly numbers?: Readonly<Partial<Record<Name, number>>>;
    readonly versions?: ReadonlyMap<string, FieldNames>;
    /** Its fields come behind the object's own. */
    readonly embedded?: Embedded;
  } = {},
): ObjectSchema {
  const numbers: Readonly<Record<string, number | undefined>> = options.numbers ?? {};
  const fieldOf = ([name, form]: [string, FieldForm]): [string, Field] => {
    invariant(!(name in Object.prototype), `${name} is what every object has: nobody could tell whether it was given`);
    const number = numbers[name];
    return [name, { name, ...form, ...(number !== undefined && { number }) }];
  };
  return {
    type: 'object',
    fields: new Map([...Object.entries<FieldForm>(forms).map(fieldOf), ...embeddedFields(options.embedded)]),
    atomic: options.atomic ?? false,
    ...(options.embedded && { embedded: options.embedded }),
    ...(options.publication && { publication: options.publication }),
    ...(options.versions && { versions: options.versions }),
  };
}

/** Without their numbers, which are those of another message. */
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
