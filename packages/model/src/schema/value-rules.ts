import type { Integer } from '../json/raw-number.ts';

/** Rules for a value besides its type. Those for another type than that of a value say nothing about it. */
export interface ValueRules {
  readonly enum?: readonly unknown[];
  readonly minimum?: Bound;
  readonly maximum?: Bound;
  readonly multipleOf?: Integer;
  /** Lengths are in characters. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: Pattern;
  readonly format?: Format;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: ReadonlyMap<string, ValueRules>;
  /** Of members that are not among the properties. */
  readonly additionalProperties?: ValueRules;
  readonly items?: ValueRules;
  readonly allOf?: readonly ValueRules[];
  readonly anyOf?: readonly ValueRules[];
  readonly oneOf?: readonly ValueRules[];
  readonly not?: ValueRules;
}

export interface Bound {
  readonly value: Integer;
  readonly isExclusive?: boolean;
}

/** A regular expression whose time grows with the text only. */
export interface Pattern {
  readonly source: string;
  /** The instructions of its program: a search takes time for each of them and each character. */
  readonly size: number;
  /** Undefined for a text that is too long to be searched in one event-loop iteration. */
  matches(text: string): boolean | undefined;
}

/** `int32`, `int64`, `float` and `double` limit numbers; other formats are rules for texts. */
export interface Format {
  readonly name: string;
  readonly matches?: (text: string) => boolean;
}
