export {
  type ApiVersion,
  type FieldSubresource,
  type Projection,
  type Verb,
  verbs,
  type WriteContext,
} from './api-version.ts';
export { type BatchConversion, type Conversion, type ImmediateConversion, renameFields } from './conversion.ts';
export { defaultOptions, defineKind, type Kind, type KindOptions, listOf, type VersionDeclaration } from './kind.ts';
export type { ObjectOf } from './object-of.ts';
export { keepOtherFields, dropUnwritable, fieldSubresourceOf } from './field-subresource.ts';
export {
  type KubeObject,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type OwnerReference,
  requireKubeObject,
} from './object.ts';
export { defineReview, type Review } from './review.ts';
export { defineSubresource, type Subresource, type SubresourceReports } from './subresource.ts';
export type { Renewed, StoredForm, StoredVersions } from './storage.ts';
export { compareVersions } from './version-order.ts';
export { formatAge } from './table/age.ts';
export { ageColumn, type Cell, type Column, nameColumn, undeclaredColumns } from './table/column.ts';
export {
  type ListMetadata,
  type MetaVersion,
  metaApiVersion,
  partialMetadataListSchema,
  partialMetadataSchema,
  partialObjectMetadata,
  partialObjectMetadataList,
} from './table/partial-metadata.ts';
export { type TableOptions, tableOf } from './table/table.ts';
export type { ServedKind, ServedSubresource, EncodableKind } from './served-kind.ts';
