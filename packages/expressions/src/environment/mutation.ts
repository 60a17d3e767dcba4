import { Budget } from '../run/budget.ts';
import { ConstructedObject, JsonPatchOperation } from '../values/constructed.ts';
import { EvaluationError, MapValue, type Value } from '../values/value.ts';
import { toJson, toJsonObject } from '../values/to-json.ts';

/**
 * What an ApplyConfiguration gives, as JSON: only the fields that it names. Whether the kind has them, with these types,
 * is for the decoder of the kind to say.
 */
export function toApplyConfiguration(value: Value): Record<string, unknown> {
  if (!(value instanceof ConstructedObject)) throw new EvaluationError('an apply configuration is made by Object{…}');
  const json = toJsonObject(value.fields, new Budget());
  requirePathNames(value);
  return json;
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
  const budget = new Budget();
  return value.map((operation: Value) => {
    if (!(operation instanceof JsonPatchOperation))
      throw new EvaluationError('every element of a JSON patch is made by JSONPatch{…}');
    const { op, path, from, value: held } = operation;
    const json = held !== undefined && { value: toJson(held, budget) };
    if (held instanceof ConstructedObject) requirePathNames(held);
    return { op, path, ...(from !== '' && { from }), ...json };
  });
}

/** Each names its path, so a message with all of them could be far larger than the value. */
const faultsMax = 100;

/** `Object.spec{…}` is only valid as the value of the field `spec`. Walks over values that are known to be bounded. */
function requirePathNames(object: ConstructedObject): void {
  const faults = findWrongNames(object, object.typeName).take(faultsMax).toArray();
  if (faults.length > 0) throw new EvaluationError(`type mismatch: ${faults.join('\n')}`);
}

function* findWrongNames(value: Value, path: string): Generator<string, undefined> {
  if (Array.isArray(value)) {
    const elements: readonly Value[] = value;
    for (const element of elements) yield* findWrongNames(element, path);
  } else if (value instanceof MapValue) for (const [, held] of value.entries()) yield* findWrongNames(held, path);
  else if (value instanceof ConstructedObject) {
    const { typeName, fields } = value;
    if (typeName !== path)
      yield `unexpected type name "${typeName}", expected "${path}", which matches field name path from root Object type`;
    for (const [name, held] of fields) yield* findWrongNames(held, `${path}.${name}`);
  }
}
