/** The static type of an expression. */
export type Type =
  | {
      readonly kind:
        | 'dyn'
        | 'null'
        | 'bool'
        | 'int'
        | 'uint'
        | 'double'
        | 'string'
        | 'bytes'
        | 'timestamp'
        | 'duration';
    }
  | { readonly kind: 'list' | 'optional' | 'type'; readonly of: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly of: Type }
  /** A map with known fields: naming another is a fault, unless it is open. */
  | ObjectType
  /** What values of a library's own class have: `net.IP`. */
  | { readonly kind: 'opaque'; readonly name: string }
  /** Stands for one type throughout a declaration, as A in `list(A)`; inference gives it a number. */
  | { readonly kind: 'parameter'; readonly name: string };

export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  readonly fields: Readonly<Record<string, Type>>;
  readonly isOpen?: boolean;
}

const simple = <K extends string>(kind: K): { readonly kind: K } => ({ kind });

export const types = {
  dyn: simple('dyn'),
  null: simple('null'),
  bool: simple('bool'),
  int: simple('int'),
  uint: simple('uint'),
  double: simple('double'),
  string: simple('string'),
  bytes: simple('bytes'),
  timestamp: simple('timestamp'),
  duration: simple('duration'),
  list: (of: Type): Type => ({ kind: 'list', of }),
  optional: (of: Type): Type => ({ kind: 'optional', of }),
  type: (of: Type): Type => ({ kind: 'type', of }),
  map: (key: Type, of: Type): Type => ({ kind: 'map', key, of }),
  object: (name: string, fields: Readonly<Record<string, Type>>): ObjectType => ({ kind: 'object', name, fields }),
  openObject: (name: string): ObjectType => ({ kind: 'object', name, fields: {}, isOpen: true }),
  opaque: (name: string): Type => ({ kind: 'opaque', name }),
  parameter: (name: string): Type => ({ kind: 'parameter', name }),
} as const;

/** As faults write it. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case 'list':
    case 'type':
      return `${type.kind}(${formatType(type.of)})`;
    case 'optional':
      return `optional_type(${formatType(type.of)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.of)})`;
    case 'object':
    case 'opaque':
    case 'parameter':
      return type.name;
    default:
      return type.kind;
  }
}

/** A longer text makes no message clearer. */
const shownLengthMax = 1_000;

/** A formatted type for a message. */
export const shortenType = (formatted: string): string =>
  formatted.length > shownLengthMax ? `${formatted.slice(0, shownLengthMax)}…` : formatted;

/** By the names that CEL gives to types: `must evaluate to one of [string null_type]`. */
export const formatTypeName = (type: Type): string =>
  formatType(type).replaceAll(/\b(?:null|timestamp|duration)\b/g, (name) => typeNames.get(name) ?? name);

const typeNames: ReadonlyMap<string, string> = new Map([
  ['null', 'null_type'],
  ['timestamp', 'google.protobuf.Timestamp'],
  ['duration', 'google.protobuf.Duration'],
]);

/** The type of a field of an object; undefined if it has no such field. */
export function fieldOf({ fields, isOpen }: ObjectType, name: string): Type | undefined {
  if (Object.hasOwn(fields, name)) return fields[name];
  return isOpen ? types.dyn : undefined;
}

/** The types inside of a type. */
export function partsOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case 'list':
    case 'optional':
    case 'type':
      return [type.of];
    case 'map':
      return [type.key, type.of];
    default:
      return [];
  }
}

/** The same type with other parts. */
export function withParts(type: Type, change: (part: Type) => Type): Type {
  switch (type.kind) {
    case 'list':
    case 'optional':
    case 'type':
      return { kind: type.kind, of: change(type.of) };
    case 'map':
      return { kind: 'map', key: change(type.key), of: change(type.of) };
    default:
      return type;
  }
}
