import { objectMeta, typeMeta } from '../schema/common.ts';
import { publicationOf } from '../schema/publication.ts';
import { type FieldForm, field, type GroupVersionKind, object } from '../schema/schema.ts';
import type { SpokenKind } from './served-kind.ts';

/** A kind whose objects are sent, answered and never stored, by its form. */
export interface AnsweredForm extends GroupVersionKind {
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, FieldForm>>;
  /** What they are called in protobuf, from 2 on: 1 is the metadata. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly requiredFields: readonly string[];
}

export function answeredKind(form: AnsweredForm): SpokenKind {
  const { group, version, kind, description, fields, numbers, requiredFields } = form;
  return {
    group,
    version,
    kind,
    apiVersion: group ? `${group}/${version}` : version,
    schema: object(
      { ...typeMeta, metadata: field(objectMeta, 'Standard object metadata.', 'always'), ...fields },
      {
        publication: publicationOf({ group, version, kind }, description, requiredFields),
        numbers: { metadata: 1, ...numbers },
      },
    ),
    hasProtobuf: true,
    // As in kube-apiserver nobody can have a table of what was made for one answer.
    columns: [],
  };
}
