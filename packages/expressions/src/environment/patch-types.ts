import { type Type, types } from '../check/type.ts';

export const jsonPatchType = types.object('JSONPatch', {
  op: types.string,
  path: types.string,
  from: types.string,
  value: types.dyn,
});

/** What an ApplyConfiguration is: the form of the object is not known here, so it may have any field. */
export const applyConfigurationType = types.openObject('Object');

/** Types by their names: the name of an object inside of one is its path, such as `Object.metadata`. */
export function findPatchType(name: string): Type | undefined {
  if (name === jsonPatchType.name) return jsonPatchType;
  return name === 'Object' || name.startsWith('Object.') ? types.openObject(name) : undefined;
}
