import type { SyncTask } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import type { KubeObject } from '../kind/object.ts';
import { PatchFormError } from '../patch/errors.ts';
import { WrongTypeError } from '../schema/decode.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { type Applied, readAppliedInSteps } from './applied.ts';
import { type Applier, ApplyConflictError, apply } from './apply.ts';
import { compare } from './compare.ts';
import { difference, emptySet, type FieldSet, isEmptySet, union } from './field-set.ts';
import { annotationBytesMax } from '../validation/object-meta.ts';
import { mergeApplied } from './merge-applied.ts';
import { withoutManagedFields } from './ownership.ts';
import type { Versions } from './versions.ts';

/**
 * Client-side apply of kubectl keeps the applied configuration in an annotation. A user who changes over with
 * `kubectl apply --server-side` owns the fields that are still as client-side apply left them, without conflicts. The
 * annotation is updated, so that the user can change back.
 */
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
/** Others may call themselves differently and are then not taken for kubectl. */
const kubectl = 'kubectl';

export function* applyAsKubectlDid<Wait = never>(
  schema: ObjectSchema<KubeObject>,
  live: KubeObject,
  empty: KubeObject,
  applied: Applied,
  applier: Applier,
  versions?: Versions<Wait>,
): Generator<Wait | undefined, KubeObject> {
  if (applier.manager !== kubectl || live.metadata.annotations?.[annotation] === undefined)
    return yield* apply(schema, live, empty, applied, applier, versions);
  return withLastApplied(yield* applyWithoutOwnConflicts(schema, live, empty, applied, applier, versions), applied);
}

function* applyWithoutOwnConflicts<Wait = never>(
  schema: ObjectSchema<KubeObject>,
  live: KubeObject,
  empty: KubeObject,
  applied: Applied,
  applier: Applier,
  versions?: Versions<Wait>,
): Generator<Wait | undefined, KubeObject> {
  try {
    return yield* apply(schema, live, empty, applied, applier, versions);
  } catch (error) {
    if (!(error instanceof ApplyConflictError)) throw error;
    const own = yield* findUnchangedFields(schema, live);
    const foreign = error.conflicts
      .map((conflict) => ({ ...conflict, fields: difference(conflict.fields, own) }))
      .filter(({ fields }) => !isEmptySet(fields));
    if (foreign.length > 0) throw new ApplyConflictError(foreign);
    return yield* apply(schema, live, empty, applied, { ...applier, force: true }, versions);
  }
}

/** The fields of the annotation's configuration whose values have not changed since. */
function* findUnchangedFields(schema: ObjectSchema<KubeObject>, live: KubeObject): SyncTask<FieldSet> {
  try {
    const text = live.metadata.annotations?.[annotation] ?? '{}';
    const { fields, values } = yield* readAppliedInSteps(schema, toStoredNames(schema, JSON.parse(text)), () => {});
    yield;
    const before = withoutManagedFields(live);
    const { added, modified, removed } = compare(schema, before, mergeApplied(schema, before, values, fields));
    yield;
    return difference(fields, union(removed, union(added, modified)));
  } catch (error) {
    // Users can write anything into the annotation; an invalid one has no effect.
    if (error instanceof SyntaxError || error instanceof WrongTypeError || error instanceof PatchFormError)
      return emptySet;
    throw error;
  }
}

/** The fields by the names of the stored version, from those of the version in which they were applied. */
function toStoredNames({ versions }: ObjectSchema, configuration: unknown): unknown {
  if (!isJsonObject(configuration)) return configuration;
  const names = versions?.get(String(configuration['apiVersion']))?.toStored;
  return names
    ? Object.fromEntries(Object.entries(configuration).map(([name, value]) => [names.get(name) ?? name, value]))
    : configuration;
}

function withLastApplied(object: KubeObject, { configuration }: Applied): KubeObject {
  const annotations = { ...object.metadata.annotations };
  if (annotations[annotation] === undefined) return object;
  annotations[annotation] = `${JSON.stringify(withoutAnnotation(configuration))}\n`;
  const bytes = Object.entries(annotations).reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);
  if (bytes > annotationBytesMax) delete annotations[annotation];
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** An annotation that held itself would double with every apply. */
function withoutAnnotation(configuration: unknown): unknown {
  if (!isJsonObject(configuration)) return configuration;
  const { metadata, ...rest } = configuration;
  if (!isJsonObject(metadata) || !isJsonObject(metadata['annotations'])) return configuration;
  const { [annotation]: _, ...annotations } = metadata['annotations'];
  return { ...rest, metadata: { ...metadata, annotations } };
}
