import type { KubeObject } from './object.ts';
import { objectMeta, typeMeta } from './schema/common.ts';
import { publicationOf } from './schema/publication.ts';
import { type FieldForm, field, object } from './schema/schema.ts';
import type { Scope, ServedKind } from './served-kind.ts';
import { plainColumns } from './table/column.ts';

/**
 * A kind that is created and answered and never stored: a question to the server, declared once. It has one verb; its
 * routes, discovery, documents, decoding and forms follow as they do for kinds that are stored.
 */
export interface ReviewForm<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly scope: Scope;
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, FieldForm>>;
  /** What they are called in protobuf, from 2 on: 1 is the metadata. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly requiredFields: readonly string[];
  /** The object as it was sent, with its answer. Throws a StatusError for a question that is none. */
  readonly answer: (question: T, asker: Asker) => T | Promise<T>;
}

/** Who asks, as far as an answer depends on it. */
export interface Asker {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface Review extends ServedKind {
  readonly answer: ReviewForm<KubeObject>['answer'];
}

export function defineReview<T extends KubeObject>(form: ReviewForm<T>): Review {
  const { group, version, kind, plural, singular, scope, description, fields, numbers, requiredFields } = form;
  return {
    group,
    version,
    kind,
    plural,
    singular,
    scope,
    apiVersion: group ? `${group}/${version}` : version,
    shortNames: [],
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
    subresourceForms: [],
    // It only ever sees objects that this schema has decoded, which makes them T.
    answer: form.answer as unknown as Review['answer'],
  };
}
