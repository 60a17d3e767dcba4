import { ConstructedObject, JsonPatchOperation } from '../values/constructed.ts';
import { MapValue } from '../values/map-value.ts';
import { toJson, toJsonObject } from '../values/to-json.ts';
import { EvaluationError, type Value } from '../values/value.ts';

/**
 * What an ApplyConfiguration gives, as JSON: only the fields that it names. Whether the kind has them, with these types,
 * is for the decoder of the kind to say.
 */
export function toApplyConfiguration(value: Value): Record<string, unknown> {
  if (!(value instanceof ConstructedObject)) throw new EvaluationError('an apply configuration is made by Object{…}');
  requirePathNames(value);
  return toJsonObject(value.fields);
}

/** An operation of RFC 6902. */
export interface PatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export function toJsonPatch(value: Value): readonly PatchOperation[] {
  if (!Array.isArray(value)) throw new EvaluationError('a JSON patch is a list of JSONPatch{…}');
  return value.map((operation: Value) => {
    if (!(operation instanceof JsonPatchOperation))
      throw new EvaluationError('every element of a JSON patch is made by JSONPatch{…}');
    const { op, path, from, value: held } = operation;
    if (held instanceof ConstructedObject) requirePathNames(held);
    return { op, path, ...(from !== '' && { from }), ...(held !== undefined && { value: toJson(held) }) };
  });
}

/** `Object.spec{…}` is only valid as the value of the field `spec`. */
function requirePathNames(object: ConstructedObject): void {
  const faults = findWrongNames(object, object.typeName);
  if (faults.length > 0) throw new EvaluationError(`type mismatch: ${faults.join('\n')}`);
}

function findWrongNames(value: Value, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((element: Value) => findWrongNames(element, path));
  if (value instanceof MapValue) return Array.from(value.entries()).flatMap(([, held]) => findWrongNames(held, path));
  if (!(value instanceof ConstructedObject)) return [];
  const { typeName, fields } = value;
  const own =
    typeName === path
      ? []
      : [`unexpected type name "${typeName}", expected "${path}", which matches field name path from root Object type`];
  return [...own, ...Array.from(fields).flatMap(([name, held]) => findWrongNames(held, `${path}.${name}`))];
}
