import { JsonObject } from './json-object.ts';
import { jsonDepthMax, tooDeep } from './json-depth.ts';
import { EvaluationError, type Value } from './value.ts';

/** JSON as a value: numbers are doubles, objects are maps. Only an object's own properties count. */
export function fromJson(json: unknown, depth = 0): Value {
  if (depth > jsonDepthMax) throw tooDeep();
  if (json === null || typeof json === 'string' || typeof json === 'number' || typeof json === 'boolean') return json;
  if (Array.isArray(json)) return json.map((element) => fromJson(element, depth + 1));
  if (typeof json === 'object')
    return new JsonObject(
      Object.entries(json)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => [key, fromJson(value, depth + 1)]),
    );
  throw new EvaluationError(`a ${typeof json} is not JSON`);
}
