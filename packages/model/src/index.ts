export {
  type AbacPolicy,
  type AccessDecision,
  type AccessAttributes,
  type AccessRules,
  type AccessRequirement,
  type AccessSelector,
  decisionNotReady,
  type ResourceAttributes,
  type UserInfo,
} from './access.ts';
export { MalformedTextError, type Parsed, parseDeepJson, parseJson, type TextFault } from './json/json.ts';
export {
  type JsonBounds,
  type JsonScan,
  NestedTooDeepError,
  nestingMax,
  scanJson,
  TooManyValuesError,
} from './json/json-scan.ts';
export {
  type ByteString,
  byteString,
  bytesOf,
  toClientForm,
  decodeStored,
  encodeStored,
  flatten,
  toStoredForm,
  typePrefix,
  uidOf,
  withResourceVersion,
} from './codec/stored-form.ts';
export { toCanonical } from './codec/to-canonical.ts';
export {
  encodeProtobuf,
  encodeEnvelope,
  parseProtobuf,
  type TypeNames,
  watchEventMessage,
  watchFrame,
} from './codec/protobuf.ts';
export { encodeMessage } from './codec/protobuf-encoder.ts';
export { messageParts } from './codec/protobuf-parts.ts';
export { delimited, encodeWith, writeNested, writeTag, varint, type ProtobufWriter } from './codec/protobuf-wire.ts';
export { parseYaml, YamlTooLargeError } from './codec/yaml.ts';
export { type Place, type TextPlaces, textPlaces } from './codec/text-places.ts';
export { indentedJson } from './json/json-indented.ts';
export * as jsonTokens from './json/json-tokens.ts';
export { isJsonObject, type JsonObject } from './json/json-object.ts';
export { formatYaml, yamlText } from './codec/yaml-format.ts';
export { type FieldError, fieldErrorsMax, formatPath, type Path, Problems } from './problems.ts';
export { type Applied, readApplied } from './managed-fields/applied.ts';
export { ApplyConflictError, conflictCauses } from './managed-fields/apply.ts';
export { findEntryStep, keysOfEntry, UnkeyedEntryError } from './schema/list-entries.ts';
export { applyAsKubectlDid } from './managed-fields/last-applied.ts';
export {
  hasValidManagedFields,
  managedFieldsAfterUpdate,
  sameOwnership,
  withExplicitReset,
  type Writer,
} from './managed-fields/managed-fields.ts';
export { withoutManagedFields } from './managed-fields/ownership.ts';
export type { ApiVersion, Part, Verb } from './kind/api-version.ts';
export { type BatchConversion, type Conversion, type ImmediateConversion, renameFields } from './kind/conversion.ts';
export { defineKind, type Kind, type VersionDeclaration } from './kind/kind.ts';
export type { ObjectOf } from './kind/object-of.ts';
export { keepOtherParts, dropUnwritable, partOf } from './kind/part.ts';
export { PatchFailedError, PatchFormError, PatchTestFailedError, TooManyOperationsError } from './patch/errors.ts';
export { type JsonPatch, applyJsonPatch, jsonPatchBounds, readJsonPatch } from './patch/json-patch.ts';
export { applyMergePatch } from './patch/merge-patch.ts';
export { sameJson } from './json/same-json.ts';
export { applyStrategicMergePatch } from './patch/strategic-merge-patch.ts';
export {
  isKubeObject,
  type KubeObject,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type OwnerReference,
} from './kind/object.ts';
export { defineReview, type Review } from './kind/review.ts';
export {
  deleteOptions,
  labelSelector,
  labelSelectorRequirement,
  localObjectReference,
  objectReference,
  statusSchema,
  watchEvent,
} from './schema/common.ts';
export { increment, type Integer, integerOf, isRawNumber, numberOf, rawNumber } from './json/raw-number.ts';
export { decodeBase64 } from './schema/base64.ts';
export { decode, WrongTypeError } from './schema/decode.ts';
export { collectDefinitions, type Dialect, type JsonSchema, toJsonSchema } from './schema/json-schema.ts';
export { publicationOf, sharedPublication } from './schema/publication.ts';
export { structural, type StructuralOptions, unstructured } from './schema/structural.ts';
export { validateParts } from './schema/validate-parts.ts';
export { validateValue } from './schema/validate-value.ts';
export type { Bound, Format, Pattern, ValueRules } from './schema/value-rules.ts';
export {
  boolean,
  bytes,
  type Field,
  type FieldDeclarations,
  field,
  type FieldValues,
  jsonField,
  map,
  withNumber,
  type ValueOf,
  type GroupVersionKind,
  int32,
  int64,
  list,
  listMap,
  isSharedList,
  type ListSchema,
  memberSchema,
  microTime,
  type ObjectSchema,
  object,
  type Schema,
  string,
  stringMap,
  time,
} from './schema/schema.ts';
export { readFieldSelector, readLabelSelector, type SelectorAttributes } from './selector/access-selector.ts';
export { type FieldSelector, fieldMatcher, parseFieldSelector } from './selector/field-selector.ts';
export {
  type LabelSelector,
  labelMatcher,
  matcherOfField,
  type LabelRequirement,
  parseLabelSelector,
} from './selector/label-selector.ts';
export { SelectorSyntaxError } from './selector/selector-error.ts';
export {
  formatShardSelector,
  matchesShards,
  parseShardSelector,
  type ShardSelector,
  shardHash,
} from './selector/shard-selector.ts';
export {
  alreadyExists,
  badRequest,
  conflict,
  forbiddenResource,
  invalid,
  notFound,
  requireValid,
  type Reason,
  type ResourceNames,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  success,
} from './status.ts';
export { defineSubresource, type Subresource, type SubresourceReports } from './kind/subresource.ts';
export { formatAge } from './kind/table/age.ts';
export { ageColumn, type Column, createdAtColumn, nameColumn } from './kind/table/column.ts';
export {
  type ListMetadata,
  type MetaVersion,
  metaApiVersion,
  partialMetadataListSchema,
  partialMetadataSchema,
  partialObjectMetadata,
  partialObjectMetadataList,
} from './kind/table/partial-metadata.ts';
export { type TableOptions, tableOf } from './kind/table/table.ts';
export type { ServedKind, ServedSubresource, EncodableKind } from './kind/served-kind.ts';
export { formatTime } from './time.ts';
export {
  type LabelSelectorField,
  type SelectorRequirementField,
  validateLabelRequirement,
  validateLabelSelector,
  validateRequirementValues,
} from './validation/label-selector.ts';
export {
  allowTrailingDash,
  dnsWordLabel,
  labelNames,
  labelValueRule,
  type NameRule,
  type NameRules,
  pathSegment,
  pathSegmentNames,
  qualifiedName,
  subdomainNames,
} from './validation/names.ts';
export {
  foregroundFinalizer,
  isPrintable,
  orphanFinalizer,
  validateFinalizers,
  validateLabelCount,
  validateManager,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from './validation/object-meta.ts';
export { requireBoundedValues } from './validation/values.ts';
export { type PolicyRule, rbacGroup, type RbacSubject, type RoleRef } from './rbac.ts';
export { parseQuantity, Quantity, quantityLengthMax, quantityOfInt } from './quantity.ts';
