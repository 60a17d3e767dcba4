import type { SpokenKind } from './kind.ts';
import type { KubeObject } from './object.ts';
import { objectMeta, typeMeta } from './schema/common.ts';
import { publicationOf } from './schema/publication.ts';
import { type FieldForm, field, type GroupVersionKind, object } from './schema/schema.ts';
import { plainColumns } from './table/column.ts';

/**
 * Something behind an object that speaks a kind of its own: it is sent, answered and never stored. Routes, discovery,
 * documents, decoding and forms follow from the declaration.
 */
export interface SubresourceForm<T extends KubeObject> extends GroupVersionKind {
  /** The last segment of its path. */
  readonly name: string;
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, FieldForm>>;
  /** What they are called in protobuf, from 2 on: 1 is the metadata. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly requiredFields: readonly string[];
  /** What is answered to a request, which has the name and the namespace of the object. Throws a StatusError. */
  readonly create: (object: KubeObject, request: T, warn: (text: string) => void) => Promise<T>;
}

export interface Subresource extends SpokenKind {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly create: SubresourceForm<KubeObject>['create'];
}

export function defineSubresource<T extends KubeObject>(form: SubresourceForm<T>): Subresource {
  const { name, group, version, kind, description, fields, numbers, requiredFields } = form;
  return {
    name,
    group,
    version,
    kind,
    apiVersion: group ? `${group}/${version}` : version,
    verbs: ['create'],
    schema: object(
      { ...typeMeta, metadata: field(objectMeta, 'Standard object metadata.', 'always'), ...fields },
      {
        publication: publicationOf({ group, version, kind }, description, requiredFields),
        numbers: { metadata: 1, ...numbers },
      },
    ),
    hasProtobuf: true,
    columns: plainColumns,
    // It only ever sees objects that this schema has decoded, which makes them T.
    create: form.create as unknown as Subresource['create'],
  };
}
