import { objectMeta, typeMeta } from '../schema/common.ts';
import { publicationOf } from '../schema/publication.ts';
import type { GroupVersionKind } from '../schema/group-version-kind.ts';
import { field, type FieldDeclarations, object } from '../schema/schema.ts';
import type { EncodableKind } from './served-kind.ts';

/** A kind whose objects are created and answered, but not stored. */
export interface UnstoredKindDeclaration<F extends FieldDeclarations> extends GroupVersionKind {
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. Protobuf numbers begin with 2: 1 is the metadata. */
  readonly fields: F;
  readonly requiredFields: readonly string[];
}

export function defineUnstoredKind(declaration: UnstoredKindDeclaration<FieldDeclarations>): EncodableKind {
  const { group, version, kind, description, fields, requiredFields } = declaration;
  return {
    group,
    version,
    kind,
    apiVersion: group ? `${group}/${version}` : version,
    schema: object(
      { ...typeMeta, metadata: field(1, objectMeta, "Standard object's metadata.", 'always'), ...fields },
      { publication: publicationOf({ group, version, kind }, description, requiredFields) },
    ),
    hasProtobuf: true,
    isCustom: false,
    // As in kube-apiserver, these have no table.
    columns: [],
  };
}
