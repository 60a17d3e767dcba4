/**
 * The structure of a configuration, in the form of JSON Schema 2020-12. Validation, the types of ConfigNode,
 * `cluster-apiserver config schema` and docs/configuration.md follow from this one declaration.
 */
export type Schema = StringSchema | BooleanSchema | IntegerSchema | ListSchema | ObjectSchema | AnySchema;

interface Described {
  /** The description of a list item is that of its list. */
  readonly description?: string;
}
export interface StringSchema extends Described {
  readonly type: 'string';
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly default?: string;
}
export interface BooleanSchema extends Described {
  readonly type: 'boolean';
  readonly default?: boolean;
}
export interface IntegerSchema extends Described {
  readonly type: 'integer';
  readonly minimum: number;
  readonly maximum: number;
  readonly default?: number;
}
export interface ListSchema<Item extends Schema = Schema> extends Described {
  readonly type: 'array';
  readonly items: Item;
  readonly minItems?: number;
  readonly maxItems?: number;
}
export type Fields = Readonly<Record<string, Schema>>;
export interface ObjectSchema<Declared extends Fields = Fields> extends Described {
  readonly type: 'object';
  readonly properties: Declared;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly additionalProperties: false;
}
/** A value that is not validated. */
export interface AnySchema extends Described {
  readonly type?: never;
}

type Text = Pick<StringSchema, 'enum' | 'pattern' | 'default'>;
type Bounds = Partial<Pick<IntegerSchema, 'minimum' | 'maximum' | 'default'>>;

export const string = (description: string, more: Text = {}): StringSchema => ({
  type: 'string',
  description,
  ...more,
});

export const boolean = (description: string, more: Pick<BooleanSchema, 'default'> = {}): BooleanSchema => ({
  type: 'boolean',
  description,
  ...more,
});

export const int32 = (description: string, more: Bounds = {}): IntegerSchema => ({
  type: 'integer',
  description,
  minimum: -(2 ** 31),
  maximum: 2 ** 31 - 1,
  ...more,
});

/** Durations in Go syntax. */
const durations = String.raw`^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`;

export const duration = (description: string, more: Pick<StringSchema, 'default'> = {}): StringSchema => ({
  type: 'string',
  description,
  pattern: durations,
  ...more,
});

export const list = <Item extends Schema>(
  description: string,
  items: Item,
  more: Pick<ListSchema, 'minItems' | 'maxItems'> = {},
): ListSchema<Item> => ({ type: 'array', description, items, ...more });

export const object = <Declared extends Fields>(
  description: string,
  properties: Declared,
  more: {
    readonly required?: readonly (keyof Declared & string)[];
    readonly minProperties?: number;
    readonly maxProperties?: number;
  } = {},
): ObjectSchema<Declared> => ({ type: 'object', description, properties, additionalProperties: false, ...more });

export const anything = (description: string): AnySchema => ({ description });
