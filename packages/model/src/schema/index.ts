export { findEntryStep, keysOfEntry, UnkeyedEntryError } from './list-entries.ts';
export {
  deleteOptions,
  labelSelector,
  labelSelectorRequirement,
  localObjectReference,
  objectMeta,
  typeMeta,
  objectReference,
  statusSchema,
  watchEvent,
} from './common.ts';
export { decodeBase64 } from './base64.ts';
export { fieldNames } from './schema.ts';
export { decode, WrongTypeError } from './decode.ts';
export { decodeInSteps } from './decode-in-steps.ts';
export type { Publication } from './schema.ts';
export type { GroupVersionKind } from './group-version-kind.ts';
export { collectDefinitions, toJsonSchema } from './json-schema.ts';
export type { Dialect, JsonSchema } from './open-api.ts';
export { publicationOf, publishedName, sharedPublication } from './publication.ts';
export { anyValue, emptied, resourceNames, structural, type StructuralOptions, unstructured } from './structural.ts';
export { describeTypeFaults, describeTypeFaultsInSteps } from './type-faults.ts';
export { UnchangedValues } from './unchanged-values.ts';
export { validateLists, validateParts } from './validate-parts.ts';
export { typeOf, validateValue } from './validate-value.ts';
export type { Bound, Format, Pattern, ValueRules } from './value-rules.ts';
export {
  any,
  boolean,
  bytes,
  type Constraints,
  double,
  type Field,
  type FieldDeclaration,
  type FieldDeclarations,
  field,
  type FieldValues,
  jsonField,
  map,
  withNumber,
  type ValueOf,
  int32,
  int64,
  intOrString,
  list,
  listMap,
  isSharedList,
  type ListSchema,
  memberSchema,
  microTime,
  type ObjectSchema,
  object,
  quantity,
  type Schema,
  type StringSchema,
  string,
  stringMap,
  time,
} from './schema.ts';
