import { invariant } from '@cluster-apiserver/base';
import { decode } from '../schema/decode.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { isKubeObject, type KubeObject } from './object.ts';

/** Decodes an object by the schema of its kind. */
export function decodeKubeObject(
  schema: ObjectSchema,
  value: unknown,
  unknownField: (path: string) => void,
): KubeObject {
  const object = decode(schema, value, unknownField);
  invariant(isKubeObject(object), 'the schema of a kind has no metadata');
  return object;
}
