/**
 * What an expression can hold. An int is a bigint and a double a number, so the two cannot be mixed by accident; what
 * JavaScript has no word for has a class of its own.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | MapValue
  | Opaque
  | FieldsValue
  | readonly Value[];

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** Nanoseconds since 1970. */
export class Timestamp {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A type as a value: what `type(x)` gives and what `int` alone means. */
export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** An optional value. Undefined means absent, because null is a value. */
export class Optional {
  readonly value: Value | undefined;
  constructor(value?: Value) {
    this.value = value;
  }
}

/** A value that only functions look into, such as an IP address. It is compared with values of its own type alone. */
export abstract class Opaque {
  /** As `type(x)` names it. */
  abstract readonly typeName: string;
  /** Length of its text, which determines the cost of a comparison. */
  get size(): number {
    return 0;
  }
  abstract equals(other: Opaque): boolean;
}

export type MapEntry = readonly [key: Value, value: Value];

/** A map, however its entries are kept. */
export abstract class MapValue {
  abstract readonly size: number;
  abstract get(key: Value): Value | undefined;
  abstract entries(): Iterable<MapEntry>;

  /** Without making the values. */
  *keys(): Iterable<Value> {
    for (const [key] of this.entries()) yield key;
  }

  /** What stands behind a dot or in brackets. */
  select(key: Value): Value | undefined {
    return this.get(key);
  }
}

/** What an expression constructs with `Type{…}`: values by the names of fields. */
export abstract class FieldsValue {
  abstract readonly typeName: string;
  /** What stands behind a dot; null when it was not given. */
  abstract member(name: string): Value;
  abstract has(name: string): boolean;
}

/** An evaluation error. `||`, `&&` and macros can still have a result despite it. */
export class EvaluationError extends Error {
  override readonly name: string = 'EvaluationError';
}
