import type { Steps } from '@cluster-apiserver/base';
import { isOfKubernetes } from './kubernetes-groups.ts';
import type { FieldError } from '../field-error.ts';
import type { KubeObject } from './object.ts';
import { listMeta, objectMeta, typeMeta } from '../schema/common.ts';
import { publicationOf } from '../schema/publication.ts';
import { type FieldForm, field, fieldNames, list, type ObjectSchema, object } from '../schema/schema.ts';
import type { ServedKind } from './served-kind.ts';
import type { Subresource } from './subresource.ts';
import { type Column, plainColumns } from './table/column.ts';
import type { NameRules } from '../validation/names.ts';
import type { View } from './view.ts';

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
  /** Groups of resources that a client may name as one, such as `all`. */
  readonly categories?: readonly string[];
  /** Whether its objects lie in namespaces; they do when nothing is said. */
  readonly namespaced?: boolean;
  /** What can be asked of it; everything when nothing is said. */
  readonly verbs?: readonly Verb[];
  readonly description: string;
  /** The fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, FieldForm>>;
  /** What they are called in protobuf, from 2 on: 1 is the metadata. A kind without numbers has no protobuf. */
  readonly numbers?: Readonly<Record<string, number>>;
  /** Other versions in which its objects are served, by apiVersion: their names of fields, each with ours. */
  readonly otherVersions?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Those of them without which validation refuses the object. */
  readonly requiredFields?: readonly string[];
  readonly names: NameRules;
  /** Whether every finalizer that is not a standard one needs a domain. */
  readonly qualifiedFinalizers: boolean;
  /** Whether PUT makes an object that is not there. */
  readonly createOnReplace: boolean;
  /** Whether a replace has to name the resourceVersion that it replaces. */
  readonly replaceNeedsVersion?: boolean;
  /** Whether others may depend on objects of this kind, so that `orphan` and `foregroundDeletion` mean something. */
  readonly ownsOthers: boolean;
  /** What a deletion that left nothing behind answers. */
  readonly deletedAnswer: 'object' | 'status';
  /** Objects disappear by themselves after this time, counted from their last write. */
  readonly timeToLiveSeconds?: number;
  /** What can be asked of one object besides itself. */
  readonly subresources: readonly Subresource[];
  /** Fields that are written through a path of their own, and not with the rest of the object. */
  readonly parts?: readonly Part[];
  /** Adds what a writer leaves out and is taken to have said; it is his like what he wrote. */
  readonly defaults?: (object: T) => T;
  /** Drops or fills what a client may not decide. On a create there is no current object. */
  readonly prepare?: (object: T, current: T | undefined) => T;
  /** On a create there is no current object. */
  readonly validate?: (object: T, current: T | undefined) => readonly FieldError[];
  /** The same, besides or instead, for what may take longer than the event loop can give at once. */
  readonly validateInSteps?: (object: T, current: T | undefined) => Steps<readonly FieldError[]>;
  /** What the writer should know although the write succeeds. On a create there is no current object. */
  readonly warnings?: (object: T, current: T | undefined) => readonly string[];
  /** What a deletion waits for besides the finalizers in the metadata. */
  readonly deletion?: {
    readonly isHeld: (object: T) => boolean;
    /** The object as it shows that its deletion has begun. */
    readonly begun: (object: T) => T;
  };
  /** How objects are shown in a table; by their name and age if nothing is said. */
  readonly columns?: readonly Column<T>[];
  /** Fields besides metadata.name and metadata.namespace that a field selector may name, each with its value. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** Those of them that nearly always select a few of many objects: these are found without looking at the others. */
  readonly indexedFields?: readonly string[];
  /** The sentence with which an unknown field of a selector is refused. */
  readonly unknownSelectorField: (field: string) => string;
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;
export type Verb = (typeof verbs)[number];

/** A part of an object with a path of its own, which speaks of the whole object and writes these fields and metadata. */
export interface Part {
  /** The last segment of its path. */
  readonly name: string;
  readonly verbs: readonly ('get' | 'patch' | 'update')[];
  readonly fields: readonly string[];
  /** Whether who creates the object may fill it. */
  readonly givenOnCreate: boolean;
}

export interface Kind extends Omit<KindForm<KubeObject>, Derived>, ServedKind {
  readonly verbs: readonly Verb[];
  readonly parts: readonly Part[];
  /** First part of the keys of its objects, unique among all kinds that are stored. */
  readonly storageName: string;
  /** Those of its subresources that speak kinds of their own. */
  readonly subresources: readonly Subresource[];
  readonly listSchema: ObjectSchema;
  /** Set when its objects are stored in the form of another kind. */
  readonly view?: View;
  /** The values of all selectable fields of an object; undefined for a kind that has none. */
  readonly fieldsOf: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;
  readonly indexedFields: readonly string[];
}

/** What a kind has in another form than its declaration. */
type Derived = 'fields' | 'numbers' | 'requiredFields' | 'subresources' | 'columns' | 'namespaced' | 'verbs' | 'parts';

export function defineKind<T extends KubeObject>(form: KindForm<T>): Kind {
  const { fields, numbers, requiredFields, subresources, columns, group, version, kind, ...rest } = form;
  const parts = form.parts ?? [];
  const apiVersion = group ? `${group}/${version}` : version;
  const names = { [apiVersion]: {}, ...form.otherVersions };
  const schema = object(
    { ...typeMeta, metadata: field(objectMeta, 'Standard object metadata.', 'always'), ...fields },
    {
      publication: publicationOf({ group, version, kind }, form.description, requiredFields),
      versions: new Map(Object.entries(names).map(([served, renamed]) => [served, fieldNames(renamed)])),
      ...(numbers && { numbers: { metadata: 1, ...numbers } }),
    },
  );
  // The hooks only ever see objects that this kind's schema has decoded, which makes them T.
  const hooks = rest as unknown as Omit<KindForm<KubeObject>, Derived>;
  const selectable = Object.entries(hooks.selectableFields);
  return {
    ...hooks,
    indexedFields: form.indexedFields ?? [],
    fieldsOf:
      selectable.length === 0
        ? undefined
        : (object) => Object.fromEntries(selectable.map(([field, valueOf]) => [field, valueOf(object)])),
    columns: (columns as readonly Column<KubeObject>[] | undefined) ?? plainColumns,
    group,
    version,
    kind,
    schema,
    listSchema: object(
      {
        ...typeMeta,
        metadata: field(listMeta, 'Standard list metadata.', 'always'),
        items: field(list(schema, 'atomic'), 'The objects.', 'always'),
      },
      {
        publication: publicationOf({ group, version, kind: `${kind}List` }, `A list of ${form.plural}.`, ['items']),
        ...(numbers && { numbers: { metadata: 1, items: 2 } }),
      },
    ),
    hasProtobuf: numbers !== undefined,
    storageName: isOfKubernetes(group) ? form.plural : `${form.plural}.${group}`,
    storedAs: { group, version, kind },
    namespaced: form.namespaced ?? true,
    verbs: form.verbs ?? verbs,
    parts,
    subresources,
    subresourceForms: [
      ...subresources,
      ...parts.map(({ name, verbs }) => ({ name, verbs, group, version, kind, schema })),
    ],
    apiVersion,
  };
}
