import type { FieldError } from './field-error.ts';
import type { KubeObject } from './object.ts';
import { objectMeta, typeMeta } from './schema/common.ts';
import { type FieldForm, field, type ObjectSchema, object } from './schema/schema.ts';
import type { NameRules } from './validation/names.ts';

/**
 * A kind of object, declared once: routes, discovery, decoding, defaults, validation, storage keys, field ownership,
 * columns and selectors all follow from this. The hooks are pure: objects in, object or errors out, and they may be
 * called again after a conflict.
 */
export interface KindForm<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, FieldForm>>;
  readonly names: NameRules;
  /** Whether every finalizer that is not a standard one needs a domain. */
  readonly qualifiedFinalizers: boolean;
  /** Whether PUT makes an object that is not there. */
  readonly createOnReplace: boolean;
  /** Whether others may depend on objects of this kind, so that `orphan` and `foregroundDeletion` mean something. */
  readonly ownsOthers: boolean;
  /** What a deletion that left nothing behind answers. */
  readonly deletedAnswer: 'object' | 'status';
  /** Objects disappear by themselves after this time, counted from their last write. */
  readonly timeToLiveSeconds?: number;
  /** What can be asked of one object besides itself, as the last segment of its path. */
  readonly subresources: readonly string[];
  /** Drops or fills what a client may not decide. */
  readonly prepare?: (object: T) => T;
  readonly validate?: (object: T) => readonly FieldError[];
  /** What the writer should know although the write succeeds. On a create there is no current object. */
  readonly warnings?: (object: T, current: T | undefined) => readonly string[];
  /** Fields besides metadata.name and metadata.namespace that a field selector may name, each with its value. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** Those of them that nearly always select a few of many objects: these are found without looking at the others. */
  readonly indexedFields?: readonly string[];
  /** The sentence with which an unknown field of a selector is refused. */
  readonly unknownSelectorField: (field: string) => string;
}

export interface Kind extends Omit<KindForm<KubeObject>, 'fields'> {
  readonly schema: ObjectSchema;
  /** The values of all selectable fields of an object; undefined for a kind that has none. */
  readonly fieldsOf: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;
  readonly indexedFields: readonly string[];
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
}

export function defineKind<T extends KubeObject>(form: KindForm<T>): Kind {
  const { fields, ...rest } = form;
  // The hooks only ever see objects that this kind's schema has decoded, which makes them T.
  const hooks = rest as unknown as Omit<KindForm<KubeObject>, 'fields'>;
  const selectable = Object.entries(hooks.selectableFields);
  return {
    ...hooks,
    indexedFields: form.indexedFields ?? [],
    fieldsOf:
      selectable.length === 0
        ? undefined
        : (object) => Object.fromEntries(selectable.map(([field, valueOf]) => [field, valueOf(object)])),
    schema: object({ ...typeMeta, metadata: field(objectMeta, 'Standard object metadata.', 'always'), ...fields }),
    apiVersion: form.group ? `${form.group}/${form.version}` : form.version,
  };
}
