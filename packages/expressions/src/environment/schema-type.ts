import { unreachable } from '@cluster-apiserver/base';
import type { ObjectSchema, Schema } from '@cluster-apiserver/model/schema';
import { type ObjectType, type Type, types } from '../check/type.ts';
import { escapeName } from '../values/escaped-name.ts';

/** The type of the objects of a kind, by which expressions over one kind are checked. Inner objects are named by their path. */
export function typeOfKind(kind: string, schema: ObjectSchema): ObjectType {
  return typeOfObject(kind, schema);
}

function typeOfObject(name: string, { fields }: ObjectSchema): ObjectType {
  const typed: Record<string, Type> = {};
  for (const { name: field, schema } of fields.values()) {
    const escaped = escapeName(field);
    if (escaped === undefined) continue;
    typed[escaped] = typeOf(`${name}.${escaped}`, schema);
    // A word of the language may stand behind a dot as it is.
    if (escaped === `__${field}__`) typed[field] = typed[escaped];
  }
  return types.object(name, typed);
}

function typeOf(name: string, schema: Schema): Type {
  switch (schema.type) {
    case 'string':
      return types.string;
    case 'bytes':
      return types.bytes;
    case 'boolean':
      return types.bool;
    case 'int32':
    case 'int64':
      return types.int;
    case 'time':
    case 'microTime':
      return types.timestamp;
    case 'double':
      return types.double;
    case 'quantity':
      return types.string;
    case 'intOrString':
      return types.dyn;
    case 'map':
      return types.map(types.string, typeOf(`${name}.@elem`, schema.values));
    case 'list':
      return types.list(typeOf(`${name}.@idx`, schema.items));
    case 'object':
      return schema.rest && schema.fields.size === 0
        ? types.map(types.string, typeOf(`${name}.@elem`, schema.rest))
        : typeOfObject(name, schema);
    case 'any':
      if (schema.contents !== undefined) return types.dyn;
      // Published as an object without declared fields, so an expression cannot name one.
      return types.object(name, {});
    default:
      return unreachable(schema);
  }
}
