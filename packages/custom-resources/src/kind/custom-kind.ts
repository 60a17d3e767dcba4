import { createHash } from 'node:crypto';
import { requireValue, type SyncTask, toSyncTask } from '@cluster-apiserver/base';
import { Problems } from '@cluster-apiserver/model';
import { structuralForm } from '@cluster-apiserver/model/codec';
import { increment, jsonTexts, sameJson } from '@cluster-apiserver/model/json';
import {
  type ApiVersion,
  type BatchConversion,
  compareVersions,
  defaultOptions,
  type FieldSubresource,
  type ImmediateConversion,
  type Kind,
  type KindOptions,
  type KubeObject,
  listOf,
  verbs,
  type WriteContext,
} from '@cluster-apiserver/model/kind';
import {
  decode,
  fieldNames,
  memberSchema,
  type ObjectSchema,
  publishedName,
  validateLists,
  validateParts,
  validateValue,
} from '@cluster-apiserver/model/schema';
import { standardFinalizers } from '@cluster-apiserver/model/validation';
import { compileRules } from '../rules/compile-rules.ts';
import type { RuleNode } from '../rules/rule-node.ts';
import { validateRules } from '../rules/validate-rules.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { findJsonPath, type JsonPath } from '../json-path.ts';
import { columnsOf } from './columns.ts';
import type { Definition, DefinedVersion, ScalePaths } from './definition.ts';
import { publicationOfKind, publicationOfList } from './open-api.ts';
import { scaleSubresource, validateScale } from './scale.ts';

const statusSubresource: FieldSubresource = {
  name: 'status',
  verbs: ['get', 'patch', 'update'],
  fields: ['status'],
  givenOnCreate: false,
  keepsMetadata: true,
};

export interface CustomKindOptions {
  readonly isTerminating?: boolean;
  /** By the webhook of the definition; absent if it has none. */
  readonly conversion?: BatchConversion | undefined;
  /**
   * Reads the definition again, for what only its OpenAPI documents say. Parsed, a schema takes three times the memory of its
   * text, so the kind does not keep it.
   */
  readonly readAgain?: () => SyncTask<Definition>;
}

/** Apart from the kind, whose functions would otherwise keep the definition, too. */
const keep = (definition: Definition) => () => given(definition);
const given = toSyncTask((definition: Definition) => definition);

/** Makes the kind of a valid definition whose names are accepted, in steps. */
export function* customKind(
  definition: Definition,
  { isTerminating = false, conversion, readAgain = keep(definition) }: CustomKindOptions = {},
): SyncTask<Kind> {
  const { group, scope, versions } = definition.spec;
  const { plural, singular, shortNames = [], kind, listKind, categories } = definition.status.acceptedNames;
  const names = { group, plural, kind, singular: singular || kind.toLowerCase(), shortNames };
  const all = versions ?? [];
  const storage = requireValue(
    all.find((version) => version.storage),
    'a valid definition has a version in which objects are stored',
  );
  const common: Common = {
    ...defaultOptions,
    ...names,
    ...(categories && categories.length > 0 && { categories }),
    namespaced: scope === 'Namespaced',
    verbs,
    storedAs: { group, version: storage.name, kind },
    listKind: listKind || `${kind}List`,
    isCustom: true,
    ...(isTerminating && { isTerminating }),
    unknownSelectorField: (name: string) => `field label not supported: ${name}`,
  };
  const stored = yield* versionOf(common, storage, all, readAgain);
  yield;
  const shape = yield* shapeOf(storage, all, conversion);
  yield;
  const versionsOfKind: ApiVersion[] = [];
  const shared = {
    qualifiedFinalizers: false,
    metadataChecks: 'change',
    updateNeedsVersion: true,
    versions: versionsOfKind,
    conversion: conversion ?? renamingVersions,
    storage: { prefix: `${group}/${plural}`, form: structuralForm, shape },
    definition: `${plural}.${group}`,
    prepare: (written: KubeObject, current: KubeObject | undefined, { served, subresource }: WriteContext) => {
      // By a webhook, writes are decided in the served version.
      const shown = (held: KubeObject): KubeObject =>
        conversion ? held : renamingVersions.convert(held, whole, served);
      const isChanged =
        !current || (subresource !== 'status' && !sameJson(contentOf(shown(written)), contentOf(shown(current))));
      return withGeneration(written, current, isChanged);
    },
    fieldsOf: selectorOf(all),
    warnings: finalizerWarnings,
  } satisfies Partial<Kind>;
  const addOwn = (version: ApiVersion): Kind => {
    const own: Kind = { ...common, ...version, ...shared };
    versionsOfKind.push(own);
    return own;
  };
  const whole = addOwn(stored);
  for (const version of all) {
    if (version === storage) continue;
    const other = yield* versionOf(common, version, all, readAgain);
    if (conversion) addOwn(other);
    else versionsOfKind.push(validatingInItself(other, whole));
  }
  return whole;
}

/** What all versions of a kind have in common. */
type Common = KindOptions<KubeObject> &
  Pick<Kind, 'group' | 'plural' | 'kind' | 'singular' | 'listKind' | 'isCustom' | 'categories' | 'storedAs'>;

function* versionOf(
  common: Common,
  declared: DefinedVersion,
  all: readonly DefinedVersion[],
  readAgain: () => SyncTask<Definition>,
): SyncTask<ApiVersion> {
  const { group, kind, plural, listKind } = common;
  const version = declared.name;
  const described = schemaOf(declared);
  const compiled = yield* compileSchema(described);
  // Those of a valid definition have no problems.
  const rules = yield* compileRules(compiled, new Problems());
  const selectable = (declared.selectableFields ?? []).map(({ jsonPath }) => jsonPath.slice(1));
  const names = { group, version, kind };
  const description = described.description ?? '';
  const schema: ObjectSchema<KubeObject> = {
    ...compiled,
    publication: publicationOfKind(names, { description, selectable }, () => readSchema(readAgain, version)),
  };
  const ofList = publicationOfList(
    { group, version, kind: listKind },
    { kind, plural, item: publishedName(names) },
    selectable,
  );
  const { status, scale } = declared.subresources ?? {};
  const fieldSubresources = [...(status ? [statusSubresource] : []), ...(scale ? [scaleSubresource(scale)] : [])];
  const apiVersion = `${group}/${version}`;
  return {
    ...common,
    version,
    apiVersion,
    description,
    schema,
    listSchema: { ...listOf(schema, { group, version, kind: listKind }, plural), publication: ofList },
    hasProtobuf: false,
    isServed: declared.served,
    ...(declared.deprecated && {
      deprecation: declared.deprecationWarning ?? deprecationOf(common, declared.name, all),
    }),
    subresources: [],
    fieldSubresources,
    subresourceForms: fieldSubresources.map(({ name, verbs: ofSubresource, projection }) => {
      const form = projection?.form ?? { group, version, kind, schema };
      return {
        name,
        verbs: ofSubresource,
        group: form.group,
        version: form.version,
        kind: form.kind,
        schema: form.schema,
      };
    }),
    columns: columnsOf(declared.additionalPrinterColumns),
    fieldNames: fieldNames({}),
    selectable: Object.fromEntries(selectable.map((name) => [name, name])),
    validateInSteps: (written, current, problems, { subresource, warn }) =>
      validateObject({ schema, scale, rules }, written, current, subresource === 'status', problems, warn),
  };
}

const schemaOf = ({ schema }: DefinedVersion): JsonSchema => schema?.openAPIV3Schema ?? {};

/** Of a version that the definition may have lost meanwhile. */
function* readSchema(readAgain: () => SyncTask<Definition>, name: string): SyncTask<JsonSchema> {
  const { spec } = yield* readAgain();
  const version = spec.versions?.find((one) => one.name === name);
  return version ? schemaOf(version) : {};
}

/** Names the highest version above it that is served and not deprecated. */
function deprecationOf({ group, kind }: Common, name: string, all: readonly DefinedVersion[]): string {
  const [better] = all
    .filter((other) => other.served && !other.deprecated && compareVersions(other.name, name) < 0)
    .toSorted((left, right) => compareVersions(left.name, right.name));
  const instead = better ? `; use ${group}/${better.name} ${kind}` : '';
  return `${group}/${name} ${kind} is deprecated${instead}`;
}

interface Validated {
  readonly schema: ObjectSchema<KubeObject>;
  readonly scale: ScalePaths | undefined;
  readonly rules: RuleNode | undefined;
}

/**
 * In the form of the version, by its schema and its rules. A write of the status validates the status by its schema, and the
 * rest was valid before.
 */
function* validateObject(
  { schema, scale, rules }: Validated,
  written: KubeObject,
  current: KubeObject | undefined,
  isStatus: boolean,
  problems: Problems,
  warn: (text: string) => void,
): SyncTask<void> {
  const status = isStatus ? memberSchema(schema, 'status') : undefined;
  // The version of a request is no old value that may stay invalid.
  if (current) yield* validateNames(schema, written, problems);
  if (!status) yield* validateValue(schema, written, current, problems);
  else if (written['status'] !== undefined)
    yield* validateValue(status, written['status'], current?.['status'], problems.at('status'));
  yield;
  if (scale) validateScale(scale, written, problems);
  // As in kube-apiserver: of a status the resources that it embeds may be incomplete.
  yield* (isStatus ? validateLists : validateParts)(schema, written, current, problems);
  if (rules) yield* validateRules(rules, written, current, problems, warn);
}

function* validateNames(schema: ObjectSchema<KubeObject>, written: KubeObject, problems: Problems): SyncTask<void> {
  for (const name of ['apiVersion', 'kind']) {
    const member = memberSchema(schema, name);
    if (member?.rules) yield* validateValue(member, written[name], undefined, problems.at(name));
  }
}

/** Versions differ in what their schemas know: another version prunes what it does not, and shows none of its own defaults. */
const renamingVersions: ImmediateConversion = {
  isImmediate: true,
  convert: (held, from, to) =>
    from === to
      ? held
      : decode(to.schema, { ...held, apiVersion: to.apiVersion }, () => {}, { keepsNulls: true, addsDefaults: false }),
};

/** A version that validates objects in its own form, which are written in that of the stored version. */
function validatingInItself(version: ApiVersion, stored: ApiVersion): ApiVersion {
  const { validateInSteps } = version;
  if (!validateInSteps) return version;
  const own: ApiVersion = {
    ...version,
    validateInSteps: (written, current, problems, context) => {
      const shown = (held: KubeObject): KubeObject => renamingVersions.convert(held, stored, own);
      return validateInSteps(shown(written), current && shown(current), problems, context);
    },
  };
  return own;
}

/** For each finalizer that a write adds, and that may be the one of another controller, too. */
function finalizerWarnings(written: KubeObject, current: KubeObject | undefined): readonly string[] {
  const before = new Set(current?.metadata.finalizers);
  const added = new Set((written.metadata.finalizers ?? []).filter((name) => !before.has(name)));
  return [...added].toSorted().flatMap((name) => {
    if (name.includes('/') || standardFinalizers.has(name)) return [];
    const how = name.includes('.') ? 'name including a path (/)' : 'name';
    return `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer ${how} to avoid accidental conflicts with other finalizer writers`;
  });
}

/** Counts changes of anything but the metadata, and the status that has a path of its own, as the writer sees them. */
function withGeneration(written: KubeObject, current: KubeObject | undefined, isChanged: boolean): KubeObject {
  const before = current?.metadata.generation ?? 0;
  return { ...written, metadata: { ...written.metadata, generation: isChanged ? increment(before) : before } };
}

const contentOf = ({ kind: _kind, apiVersion: _version, metadata: _metadata, ...content }: KubeObject): object =>
  content;

/** Of all that decides how stored values are read. */
function* shapeOf(
  { name, schema }: DefinedVersion,
  versions: readonly DefinedVersion[],
  conversion: BatchConversion | undefined,
): SyncTask<string> {
  const fields = versions.map(({ selectableFields }) => selectableFields);
  const shape = createHash('sha256');
  // By a webhook, objects stay in the version in which they were stored.
  for (const text of jsonTexts([name, schema, fields, conversion !== undefined])) {
    shape.update(text);
    yield;
  }
  return shape.digest('hex');
}

/** The values of all fields that one of the versions lets clients select by; empty for a name that no path can have. */
function selectorOf(versions: readonly DefinedVersion[]): Kind['fieldsOf'] {
  const paths = new Map<string, JsonPath | undefined>();
  for (const { selectableFields = [] } of versions)
    for (const { jsonPath } of selectableFields) paths.set(jsonPath.slice(1), findJsonPath(jsonPath));
  if (paths.size === 0) return undefined;
  return (held) => Object.fromEntries(Array.from(paths, ([name, path]) => [name, textOf(path?.first(held))]));
}

/** Values compare as texts. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
