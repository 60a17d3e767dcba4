import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import { describeTypeFaults, memberSchema, type ObjectSchema, type Schema } from '@cluster-apiserver/model/schema';

/** Each has a path, so a message with all of them could be far larger than the configuration. */
const pathsMax = 100;

/**
 * Why an apply configuration cannot be merged into objects of a kind, in the words of kube-apiserver; undefined if it can.
 * Atomic fields are refused: they would replace values that the policy does not know.
 */
export function findApplyFault(schema: ObjectSchema, configuration: JsonObject): string | undefined {
  const faults = describeTypeFaults(schema, configuration);
  if (faults !== undefined) return `failed to convert patch object to typed object: ${faults}`;
  const atomics = findAtomicPaths(schema, configuration, '').slice(0, pathsMax);
  return atomics.length === 0
    ? undefined
    : `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`;
}

function findAtomicPaths(schema: Schema, value: unknown, path: string): string[] {
  if (schema.type === 'object' && isJsonObject(value))
    return [
      ...(schema.atomic ? [path] : []),
      ...Object.entries(value).flatMap(([name, held]) => {
        const inner = memberSchema(schema, name);
        return inner ? findAtomicPaths(inner, held, `${path}.${name}`) : [];
      }),
    ];
  if (schema.type === 'list' && Array.isArray(value))
    return [
      ...(schema.sharing === 'atomic' ? [path] : []),
      ...value.flatMap((element, index) => findAtomicPaths(schema.items, element, `${path}[${index}]`)),
    ];
  return [];
}
