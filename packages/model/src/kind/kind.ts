import { invariant, type SyncTask } from '@cluster-apiserver/base';
import { canonicalForm } from '../codec/canonical-form.ts';
import type { Problems } from '../problems.ts';
import { listMeta, objectMeta, typeMeta } from '../schema/common.ts';
import { publicationOf } from '../schema/publication.ts';
import type { GroupVersionKind } from '../schema/group-version-kind.ts';
import { field, type FieldDeclarations, fieldNames, list, type ObjectSchema, object } from '../schema/schema.ts';
import { type NameRules, subdomainNames } from '../validation/names.ts';
import type { MetadataChecks } from '../validation/object-meta.ts';
import { type ApiVersion, type FieldSubresource, type Verb, verbs, type WriteContext } from './api-version.ts';
import { type Conversion, renaming } from './conversion.ts';
import { isOfKubernetes } from './kubernetes-groups.ts';
import type { KubeObject } from './object.ts';
import type { ObjectOf } from './object-of.ts';
import type { ServedSubresource } from './served-kind.ts';
import type { KindStorage } from './storage.ts';
import type { Subresource } from './subresource.ts';
import { type Column, plainColumns } from './table/column.ts';

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
  /** Other groups and versions in which its objects are served. */
  readonly otherVersions?: readonly VersionDeclaration<ObjectOf<F>>[];
  /** How objects are converted between the versions, if they differ in more than names of fields. */
  readonly conversion?: Conversion;
  /** Where and how its objects are stored, if not as those of most kinds. */
  readonly storage?: Partial<KindStorage>;
  /** Whether clients see the version in which objects are stored; true by default. */
  readonly isServed?: boolean;
  /** How many values an object may hold, if more than others. A pass over all of them has to fit into a turn. */
  readonly valuesMax?: number;
}

/** Another version of a kind: only the differences to the stored one are declared. It has no subresources. */
export interface VersionDeclaration<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  /** That of the kind by default. */
  readonly description?: string;
  readonly fields: FieldDeclarations;
  readonly requiredFields?: readonly string[];
  /** The fields with another name than in the stored version, each with its stored name. Their schemas are the same. */
  readonly renamed: Readonly<Record<string, string>>;
  /** The fields of field selectors, each with its stored name. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /** Validates the stored form. As in kube-apiserver, errors have its field names. */
  readonly validate: NonNullable<KindHooks<T>['validate']>;
  /** Whether clients see it; true by default. Otherwise objects may still be stored in it. */
  readonly isServed?: boolean;
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
  /** Which metadata its own rules check in an update; both, the object and the change, by default. */
  readonly metadataChecks: MetadataChecks;
  /** Whether PUT creates an absent object; false by default. */
  readonly createOnUpdate: boolean;
  /** Whether an update has to name the resourceVersion that it replaces; false by default. */
  readonly updateNeedsVersion: boolean;
  /** Whether other objects may depend on it, so that `orphan` and `foregroundDeletion` apply; true by default. */
  readonly ownsOthers: boolean;
  /** The response to a delete. `objectIfHeld`, the default, is a Status when the object has been removed. */
  readonly deletedAnswer: 'object' | 'objectIfHeld' | 'status';
  /** The response to the deletion of a collection: the objects as they were, by default, or a Status that counts them. */
  readonly deletedCollectionAnswer: 'list' | 'status';
  /** Objects are removed after this time without a write; undefined, by default, if they stay. */
  readonly timeToLiveSeconds: number | undefined;
  /** Subresources with a kind of their own; none by default. */
  readonly subresources: readonly Subresource[];
  /** Fields that are written through a path of their own, and not with the rest of the object; none by default. */
  readonly fieldSubresources: readonly FieldSubresource[];
  /** Fields that the create decides, that no write changes, and that belong to no manager; none by default. */
  readonly fixedFields: readonly string[];
  /** The columns of its table: name and age by default. */
  readonly columns: readonly Column<T>[];
  /** Rows of its table with a smaller number come first; by default they are in the order of the list. */
  readonly rowRank?: ((object: T) => number) | undefined;
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
  readonly prepare?: (object: T, current: T | undefined, context: WriteContext) => T;
  /** Adds of which parts there are too many to look at each: called early, also for the part of an object that is applied. */
  readonly validateCounts?: (object: T, current: T | undefined, problems: Problems) => void;
  /** Adds all that is wrong with the object. */
  readonly validate?: (object: T, current: T | undefined, problems: Problems, context: WriteContext) => void;
  /** Like `validate`, in steps: for checks that may take longer than an event-loop iteration. */
  readonly validateInSteps?: (
    object: T,
    current: T | undefined,
    problems: Problems,
    context: WriteContext,
  ) => SyncTask<void>;
  /** Warnings for the writer of a valid object. */
  readonly warnings?: (object: T, current: T | undefined) => readonly string[];
  /** A deletion in two steps, like that of namespaces: the first one only marks the object. */
  readonly deletion?: {
    /** Whether it waits for more than the finalizers in the metadata. Until then other deletions change nothing. */
    readonly isHeld: (object: T) => boolean;
    /** The object as it shows that its deletion has begun. */
    readonly begin: (object: T) => T;
    /** What depends on it always goes with it, whatever the propagation policy of a deletion says. */
    readonly ignoresPropagation?: boolean;
  };
}

/** What is stored as one, whichever versions show it. It is itself the version in which its objects are stored. */
export interface Kind extends ApiVersion, KindOptions<KubeObject>, KindHooks<KubeObject> {
  readonly verbs: readonly Verb[];
  readonly columns: readonly Column<KubeObject>[];
  readonly storage: KindStorage;
  /** The name of the CustomResourceDefinition that it is made of. */
  readonly definition?: string;
  /**
   * The versions of its objects, the stored one first. Clients see those that are served. If the conversion between them has
   * to wait, each is a kind of its own: writes are decided in the version of the request, and converted when they are stored.
   */
  readonly versions: readonly ApiVersion[];
  readonly conversion: Conversion;
  /** The values of all selectable fields of an object; undefined for a kind without any. */
  readonly fieldsOf: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;
}

/** What most kinds are like. */
export const defaultOptions: Omit<KindOptions<KubeObject>, 'unknownSelectorField'> = {
  shortNames: [],
  namespaced: true,
  verbs,
  names: subdomainNames,
  qualifiedFinalizers: true,
  metadataChecks: 'both',
  createOnUpdate: false,
  updateNeedsVersion: false,
  ownsOthers: true,
  deletedAnswer: 'objectIfHeld',
  deletedCollectionAnswer: 'list',
  timeToLiveSeconds: undefined,
  subresources: [],
  fieldSubresources: [],
  fixedFields: [],
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
  const { fields, requiredFields, otherVersions = [], conversion = renaming, storage = {}, ...rest } = declaration;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- hooks and columns only see objects that this kind's schema has decoded
  const given = rest as Partial<KindOptions<KubeObject>> & KindHooks<KubeObject>;
  const { group, version, kind, plural, singular, description, categories, isServed = true } = declaration;
  const options: KindOptions<KubeObject> & KindHooks<KubeObject> = {
    ...defaultOptions,
    unknownSelectorField: describeUnknownField(Object.keys(given.selectableFields ?? {})),
    ...given,
    ...withoutWriteOnly(fields, given.defaults),
  };
  const { timeToLiveSeconds } = options;
  invariant(timeToLiveSeconds === undefined || timeToLiveSeconds > 0, 'etcd rejects leases without a duration');
  const storedAs = { group, version, kind };
  const listKind = `${kind}List`;
  const names = new Map([
    [apiVersionOf(declaration), fieldNames({})],
    ...otherVersions.map((other) => [apiVersionOf(other), fieldNames(other.renamed)] as const),
  ]);
  const selectable = Object.entries(options.selectableFields);
  const described = {
    ...options,
    ...{ group, version, kind, plural, singular, description, storedAs, isServed, listKind, isCustom: false },
    ...(categories && { categories }),
  };
  const versions: ApiVersion[] = [];
  const whole: Kind = {
    ...described,
    ...formOf(described, fields, requiredFields, names),
    fieldNames: fieldNames({}),
    selectable: Object.fromEntries(selectable.map(([name]) => [name, name])),
    versions,
    conversion,
    fieldsOf:
      selectable.length === 0
        ? undefined
        : (held) => Object.fromEntries(selectable.map(([name, valueOf]) => [name, valueOf(held)])),
    storage: { prefix: isOfKubernetes(group) ? plural : `${plural}.${group}`, form: canonicalForm, ...storage },
  };
  versions.push(whole, ...otherVersions.map((other) => versionOf(whole, other)));
  return whole;
}

/** Every write goes through the defaults before anything is owned or stored. */
function withoutWriteOnly(
  fields: FieldDeclarations,
  defaults: KindHooks<KubeObject>['defaults'] = (written) => written,
): Pick<KindHooks<KubeObject>, 'defaults'> {
  const names = Object.keys(fields).filter((name) => fields[name]?.presence === 'writeOnly');
  if (names.length === 0) return {};
  return {
    defaults: (written) => {
      const { ...rest } = defaults(written);
      for (const name of names) delete rest[name];
      return rest;
    },
  };
}

const apiVersionOf = ({ group, version }: Pick<GroupVersionKind, 'group' | 'version'>): string =>
  group ? `${group}/${version}` : version;

function versionOf<T extends KubeObject>(stored: Kind, declaration: VersionDeclaration<T>): ApiVersion {
  const { group, version, description = stored.description, fields, requiredFields, renamed } = declaration;
  const { selectableFields: selectable, validate } = declaration;
  const { kind, plural, singular, shortNames, categories, namespaced, verbs: ofKind, deletedAnswer, storedAs } = stored;
  const described = {
    ...{ group, version, description, kind, plural, singular, shortNames, namespaced, verbs: ofKind, deletedAnswer },
    isServed: declaration.isServed ?? true,
    listKind: stored.listKind,
    isCustom: false,
    ...(categories && { categories }),
    ...(storedAs && { storedAs }),
    subresources: [],
    fieldSubresources: [],
  };
  const own: ApiVersion = {
    ...described,
    ...formOf(described, fields, requiredFields),
    columns: stored.columns.map((column) => ({
      ...column,
      value: (shown, nowMs) => column.value(renaming.convert(shown, own, stored), nowMs),
    })),
    fieldNames: fieldNames(renamed),
    selectable,
    unknownSelectorField: stored.unknownSelectorField,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the hook only sees objects of the stored version
    validate: validate as NonNullable<Kind['validate']>,
  };
  return own;
}

/** What follows from the names of a version and its fields. */
function formOf(
  described: Pick<
    ApiVersion,
    'group' | 'version' | 'kind' | 'listKind' | 'plural' | 'description' | 'subresources' | 'fieldSubresources'
  >,
  fields: FieldDeclarations,
  requiredFields: readonly string[] | undefined,
  versions?: ObjectSchema['versions'],
): Pick<ApiVersion, 'apiVersion' | 'schema' | 'listSchema' | 'hasProtobuf' | 'subresourceForms'> {
  const { group, version, kind, listKind, plural, description, subresources, fieldSubresources } = described;
  const schema = object(
    { ...typeMeta, metadata: field(1, objectMeta, "Standard object's metadata.", 'always'), ...fields },
    {
      publication: publicationOf({ group, version, kind }, description, requiredFields),
      ...(versions && { versions }),
    },
  );
  return {
    apiVersion: apiVersionOf({ group, version }),
    schema,
    listSchema: listOf(schema, { group, version, kind: listKind }, plural),
    hasProtobuf: hasNumbers(fields, kind),
    subresourceForms: [
      ...subresources,
      ...fieldSubresources.map(
        (subresource): ServedSubresource => ({
          name: subresource.name,
          verbs: subresource.verbs,
          group,
          version,
          kind,
          schema,
        }),
      ),
    ],
  };
}

/** The schema of lists of objects. */
export const listOf = (schema: ObjectSchema, names: GroupVersionKind, plural: string): ObjectSchema =>
  object(
    {
      ...typeMeta,
      metadata: field(1, listMeta, 'Standard list metadata.', 'always'),
      items: field(2, list(schema, 'atomic'), 'The objects.', 'always'),
    },
    { publication: publicationOf(names, `A list of ${plural}.`, ['items']) },
  );

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
