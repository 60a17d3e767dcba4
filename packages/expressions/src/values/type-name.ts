import { Duration, FieldsValue, MapValue, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from './value.ts';

/** As `type(x)` names it. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      if (value === null) return 'null_type';
      if (value instanceof Uint) return 'uint';
      if (value instanceof Uint8Array) return 'bytes';
      if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
      if (value instanceof Duration) return 'google.protobuf.Duration';
      if (value instanceof TypeValue) return 'type';
      if (value instanceof Optional) return 'optional_type';
      if (value instanceof Opaque || value instanceof FieldsValue) return value.typeName;
      return value instanceof MapValue ? 'map' : 'list';
  }
}
