import { parseDuration } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import {
  type FieldDeclaration,
  type FieldDeclarations,
  type FieldValues,
  int32,
  jsonField,
  list as listOf,
  type ListSchema,
  object,
  type ObjectSchema,
  type Schema,
  string,
  type StringSchema,
  type ValueOf,
} from '@cluster-apiserver/model/schema';

/** What configuration files say besides the schema language of the API: rules whose words are for operators. */

/** `missing` is what to say if it is absent or empty. */
export const required = <S extends Schema>(
  schema: S,
  description: string,
  missing = 'Required value',
): FieldDeclaration<S, 'required'> => ({ ...jsonField(schema, description, 'required'), missing });

/** `documentedDefault` is what the server uses without it. */
export const optional = <S extends Schema>(
  schema: S,
  description: string,
  documentedDefault?: ValueOf<S>,
): FieldDeclaration<S, 'given'> =>
  jsonField(documentedDefault === undefined ? schema : { ...schema, default: documentedDefault }, description, 'given');

/** A field that has a value in any case. */
export const withDefault = <S extends Schema>(
  schema: S,
  description: string,
  value: ValueOf<S>,
): FieldDeclaration<S, 'always'> => jsonField({ ...schema, default: value }, description, 'always');

/** `validate` reports what is wrong with a value in which everything else is right. */
export const checked = <S extends Schema>(schema: S, validate: (value: ValueOf<S>, at: Problems) => void): S => ({
  ...schema,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- decoding validates values of the type only
  validate: (value, at) => validate(value as ValueOf<S>, at),
});

export const checkedString = (validate: (value: string, at: Problems) => void): StringSchema =>
  checked(string, validate);

/** `hints` say more about values that are plausible, and not supported. */
export const oneOf = <const Value extends string>(
  values: readonly Value[],
  hints: Readonly<Record<string, string>> = {},
): StringSchema<Value> =>
  checked<StringSchema<Value>>({ type: 'string', rules: { enum: values } }, (value, at) => {
    if (!values.includes(value))
      at.notSupported(
        value,
        values.filter((one) => one !== ''),
        hints[value],
      );
  });

/** Durations in Go syntax. */
const durations = String.raw`^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`;

/** `durationMs` reads it. */
export const duration: StringSchema = {
  ...checkedString((value, at) => {
    if (parseDuration(value) === undefined) at.report('expected a duration such as 3s or 1m30s');
  }),
  rules: {
    pattern: { source: durations, size: durations.length, matches: (value) => parseDuration(value) !== undefined },
  },
};

/** 0 for an absent one, and for one with a problem. */
export const durationMs = (value: string | undefined): number => parseDuration(value ?? '') ?? 0;

export const int32Max = 2 ** 31 - 1;

export const integer = (minimum: number, maximum: number, detail: string): typeof int32 => ({
  ...checked(int32, (value, at) => {
    if (value < minimum || value > maximum) at.invalid(value, detail);
  }),
  rules: { minimum: { value: minimum }, maximum: { value: maximum } },
});

export const list = <Items extends Schema>(items: Items, itemsMax?: number): ListSchema<Items> =>
  itemsMax === undefined
    ? listOf(items, 'atomic')
    : {
        ...listOf(items, 'atomic'),
        rules: { maxItems: itemsMax },
        validate: (value, at) => {
          if (Array.isArray(value) && value.length > itemsMax) at.tooMany(value.length, itemsMax);
        },
      };

/** An object of which exactly one field is set. */
export const exactlyOne = <F extends FieldDeclarations>(fields: F, more: string): ObjectSchema<FieldValues<F>> => ({
  ...object(fields),
  rules: { minProperties: 1, maxProperties: 1 },
  validate: (value, at) => {
    const count = Object.keys(Object(value)).length;
    if (count !== 1) at.report(`set exactly one of ${Object.keys(fields).join(', ')}${count > 1 ? `; ${more}` : ''}`);
  },
});

/** A schema as JSON Schema 2020-12 writes it. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: 'string' | 'boolean' | 'integer' | 'array' | 'object';
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly contentEncoding?: 'base64';
  readonly default?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly minLength?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly additionalProperties?: false;
}

export function printSchema(schema: Schema): JsonSchema {
  const { rules: { enum: values, pattern, minimum, maximum, ...counts } = {}, default: byDefault } = schema;
  const { minItems, maxItems, minProperties, maxProperties } = counts;
  return {
    ...printType(schema),
    ...(values && { enum: values }),
    ...(pattern && { pattern: pattern.source }),
    ...(minimum && { minimum: minimum.value }),
    ...(maximum && { maximum: maximum.value }),
    ...(byDefault !== undefined && { default: byDefault }),
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems }),
    ...(minProperties !== undefined && { minProperties }),
    ...(maxProperties !== undefined && { maxProperties }),
  };
}

function printType(schema: Schema): JsonSchema {
  switch (schema.type) {
    case 'bytes':
      return { type: 'string', contentEncoding: 'base64' };
    case 'int32':
      return { type: 'integer', minimum: -(2 ** 31), maximum: int32Max };
    case 'list':
      return { type: 'array', items: printSchema(schema.items) };
    case 'object':
      return printObject(schema);
    case 'string':
    case 'boolean':
      return { type: schema.type };
    default:
      return {};
  }
}

function printObject({ fields }: ObjectSchema): JsonSchema {
  const needed = [...fields.values()].filter(({ presence }) => presence === 'required').map(({ name }) => name);
  const properties = [...fields.values()].map(({ name, schema, description, presence }) => {
    const isFilled = presence === 'required';
    const filled =
      isFilled && schema.type === 'list'
        ? { minItems: 1 }
        : isFilled && schema.type === 'string'
          ? { minLength: 1 }
          : {};
    return [name, { description, ...printSchema(schema), ...filled }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(needed.length > 0 && { required: needed }),
    additionalProperties: false,
  };
}
