import { invariant, type SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '../problems.ts';
import { listMeta, objectMeta, typeMeta } from '../schema/common.ts';
import { publicationOf } from '../schema/publication.ts';
import {
  field,
  type FieldDeclarations,
  fieldNames,
  type FieldValues,
  list,
  type ObjectSchema,
  object,
} from '../schema/schema.ts';
import { type NameRules, subdomainNames } from '../validation/names.ts';
import { isOfKubernetes } from './kubernetes-groups.ts';
import type { KubeObject } from './object.ts';
import type { ServedKind } from './served-kind.ts';
import type { Subresource } from './subresource.ts';
import { type Column, plainColumns } from './table/column.ts';
import type { View } from './view.ts';

/** The type of the objects of a kind with these fields. */
export type ObjectOf<F extends FieldDeclarations> = string extends keyof F ? KubeObject : KubeObject & FieldValues<F>;

/**
 * A kind of object, declared once: its type, routes, discovery, decoding, protobuf, defaults, validation, storage keys,
 * field ownership, columns and selectors follow.
 */
export interface KindDeclaration<F extends FieldDeclarations>
  extends KindHooks<ObjectOf<F>>,
    Partial<KindOptions<ObjectOf<F>>> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly description: string;
  /** Groups of resources that a client may name as one, such as `all`. */
  readonly categories?: readonly string[];
  /** The fields besides apiVersion, kind and metadata. Protobuf numbers begin with 2: 1 is the metadata. */
  readonly fields: F;
  /** The fields that OpenAPI documents as required. `validate` enforces them. */
  readonly requiredFields?: readonly string[];
  /** Other versions in which its objects are served, by apiVersion: their names of fields, each with the stored one. */
  readonly otherVersions?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Where its objects are stored, if it is not the plural, with the group unless that is one of Kubernetes. What
   * kube-apiserver stores elsewhere, such as `apiextensions.k8s.io/customresourcedefinitions`, names its place here.
   */
  readonly storagePrefix?: string;
}

/** Options with defaults. */
export interface KindOptions<T extends KubeObject> {
  /** None by default. */
  readonly shortNames: readonly string[];
  /** True by default. */
  readonly namespaced: boolean;
  /** All by default. */
  readonly verbs: readonly Verb[];
  /** The rule for names: DNS subdomains by default. */
  readonly names: NameRules;
  /** Whether finalizers need a domain, except for the standard ones; true by default. */
  readonly qualifiedFinalizers: boolean;
  /** Whether PUT creates an absent object; false by default. */
  readonly createOnUpdate: boolean;
  /** Whether an update has to name the resourceVersion that it replaces; false by default. */
  readonly updateNeedsVersion: boolean;
  /** Whether other objects may depend on it, so that `orphan` and `foregroundDeletion` apply; true by default. */
  readonly ownsOthers: boolean;
  /** The response to a delete. `objectIfHeld`, the default, is a Status when the object has been removed. */
  readonly deletedAnswer: 'object' | 'objectIfHeld' | 'status';
  /** Objects are removed after this time without a write; undefined, by default, if they stay. */
  readonly timeToLiveSeconds: number | undefined;
  /** Subresources with a kind of their own; none by default. */
  readonly subresources: readonly Subresource[];
  /** Fields that are written through a path of their own, and not with the rest of the object; none by default. */
  readonly parts: readonly Part[];
  /** The columns of its table: name and age by default. */
  readonly columns: readonly Column<T>[];
  /** Fields that field selectors may name besides metadata.name and metadata.namespace; none by default. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** The selectable fields that usually match few objects: an index finds these without a scan. None by default. */
  readonly indexedFields: readonly string[];
  /** The error message for a field that cannot be selected by. */
  readonly unknownSelectorField: (field: string) => string;
}

/** Rules of a kind in code. Hooks are pure, and called again after a conflict. On a create there is no current object. */
export interface KindHooks<T extends KubeObject> {
  /** Fills in absent fields. Their owner is the writer, as if the request contained them. */
  readonly defaults?: (object: T) => T;
  /** Drops or sets what a client may not decide. */
  readonly prepare?: (object: T, current: T | undefined) => T;
  /** Adds all that is wrong with the object. */
  readonly validate?: (object: T, current: T | undefined, problems: Problems) => void;
  /** Like `validate`, in steps: for checks that may take longer than a turn of the event loop. */
  readonly validateInSteps?: (object: T, current: T | undefined, problems: Problems) => SyncTask<void>;
  /** Warnings for the writer of a valid object. */
  readonly warnings?: (object: T, current: T | undefined) => readonly string[];
  /** A deletion in two steps, like that of namespaces: the first one only marks the object. */
  readonly deletion?: {
    /** Whether it waits for more than the finalizers in the metadata. Until then other deletions change nothing. */
    readonly isHeld: (object: T) => boolean;
    /** The object as it shows that its deletion has begun. */
    readonly begin: (object: T) => T;
  };
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;
export type Verb = (typeof verbs)[number];

/** A subresource that reads and writes the object itself, such as status: these fields and the metadata. */
export interface Part {
  /** The last segment of its path. */
  readonly name: string;
  readonly verbs: readonly ('get' | 'patch' | 'update')[];
  readonly fields: readonly string[];
  /** Whether a create may set the fields. */
  readonly givenOnCreate: boolean;
  /** Whether it leaves the metadata as they are, except for managedFields. */
  readonly keepsMetadata: boolean;
}

export interface Kind extends ServedKind, KindOptions<KubeObject>, KindHooks<KubeObject> {
  readonly verbs: readonly Verb[];
  readonly columns: readonly Column<KubeObject>[];
  readonly description: string;
  /** First part of the keys of its objects, one segment or more, unique among all kinds that are stored. */
  readonly storagePrefix: string;
  readonly listSchema: ObjectSchema;
  /** Set if its objects are stored as those of another kind. */
  readonly view?: View;
  /** The values of all selectable fields of an object; undefined for a kind without any. */
  readonly fieldsOf: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;
}

const defaultOptions: Omit<KindOptions<KubeObject>, 'unknownSelectorField'> = {
  shortNames: [],
  namespaced: true,
  verbs,
  names: subdomainNames,
  qualifiedFinalizers: true,
  createOnUpdate: false,
  updateNeedsVersion: false,
  ownsOthers: true,
  deletedAnswer: 'objectIfHeld',
  timeToLiveSeconds: undefined,
  subresources: [],
  parts: [],
  columns: plainColumns,
  selectableFields: {},
  indexedFields: [],
};

/** In the words of kube-apiserver, with the fields of the kind. */
function describeUnknownField(selectable: readonly string[]): (name: string) => string {
  const known = ['metadata.name', 'metadata.namespace', ...selectable].map((name) => `"${name}"`).join(', ');
  return (name) => `"${name}" is not a known field selector: only ${known}`;
}

export function defineKind<F extends FieldDeclarations>(declaration: KindDeclaration<F>): Kind {
  const { fields, requiredFields, otherVersions, ...rest } = declaration;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- hooks and columns only see objects that this kind's schema has decoded
  const given = rest as Partial<KindOptions<KubeObject>> & KindHooks<KubeObject>;
  const { group, version, kind, plural, description } = declaration;
  const ownFields: FieldDeclarations = fields;
  const apiVersion = group ? `${group}/${version}` : version;
  const names = { [apiVersion]: {}, ...otherVersions };
  const hasProtobuf = hasNumbers(fields, kind);
  const schema = object(
    { ...typeMeta, metadata: field(1, objectMeta, 'Standard object metadata.', 'always'), ...ownFields },
    {
      publication: publicationOf({ group, version, kind }, description, requiredFields),
      versions: new Map(Object.entries(names).map(([served, renamed]) => [served, fieldNames(renamed)])),
    },
  );
  const options: KindOptions<KubeObject> & KindHooks<KubeObject> = {
    ...defaultOptions,
    unknownSelectorField: describeUnknownField(Object.keys(given.selectableFields ?? {})),
    ...given,
  };
  const { parts, subresources, timeToLiveSeconds } = options;
  invariant(timeToLiveSeconds === undefined || timeToLiveSeconds > 0, 'etcd rejects leases without a duration');
  const selectable = Object.entries(options.selectableFields);
  return {
    ...options,
    group,
    version,
    kind,
    apiVersion,
    plural,
    singular: declaration.singular,
    description,
    schema,
    listSchema: object(
      {
        ...typeMeta,
        metadata: field(1, listMeta, 'Standard list metadata.', 'always'),
        items: field(2, list(schema, 'atomic'), 'The objects.', 'always'),
      },
      {
        publication: publicationOf({ group, version, kind: `${kind}List` }, `A list of ${plural}.`, ['items']),
      },
    ),
    hasProtobuf,
    fieldsOf:
      selectable.length === 0
        ? undefined
        : (stored) => Object.fromEntries(selectable.map(([name, valueOf]) => [name, valueOf(stored)])),
    storagePrefix: declaration.storagePrefix ?? (isOfKubernetes(group) ? plural : `${plural}.${group}`),
    storedAs: { group, version, kind },
    subresourceForms: [
      ...subresources,
      ...parts.map((part) => ({ name: part.name, verbs: part.verbs, group, version, kind, schema })),
    ],
  };
}

/** Whether the fields have protobuf numbers: either all of them or none. */
function hasNumbers(fields: FieldDeclarations, kind: string): boolean {
  const declared = Object.values(fields);
  const numbered = declared.filter(({ number }) => number !== undefined);
  invariant(
    numbered.length === declared.length || numbered.length === 0,
    `${kind} would lose the fields without a number when it is sent as protobuf`,
  );
  return numbered.length === declared.length;
}
