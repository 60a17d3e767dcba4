import { type Call, perform, resultOf, type Work } from '@cluster-apiserver/base';
import {
  alreadyExists,
  badRequest,
  type ByteString,
  boundTo,
  bytesOf,
  writableOf,
  encodeStored,
  formatTime,
  hasValidManagedFields,
  invalid,
  labelCountErrors,
  type Kind,
  type KubeObject,
  managedFieldsAfterUpdate,
  requireBoundedValues,
  type ServedKind,
  StatusError,
  validateObjectMeta,
  withoutManagedFields,
} from '@cluster-apiserver/model';
import { CorruptValueError, KeyExistsError, type Stored } from '@cluster-apiserver/storage';
import { admit, createAdmitted, mutate } from '../write/admission.ts';
import { generatedName } from '../write/generated-name.ts';
import { WrittenObject, type Outcome } from '../outcome.ts';
import { placeOf, type Resource, type ResourceKind } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { readStored } from '../stored-object.ts';
import {
  canonical,
  inNamespace,
  withDistinctOwners,
  withIdentity,
  withoutSystemFields,
  withSystemFieldsOf,
} from '../write/system-fields.ts';
import type { WriteOptions } from '../write/write-options.ts';

/** How many names are tried for one `generateName`: with 27^5 of them a second try is rare and an eighth a sign. */
const generatedNameTriesMax = 8;

/** The whole meaning of "create", for every kind. */
export function create(resource: Resource, incoming: KubeObject, options: WriteOptions, call: Call): Promise<Outcome> {
  return withStatusErrors(async () => {
    const drafted = perform(resource.clock, call, mutateDraft(resource, incoming, options));
    const draft = drafted instanceof Promise ? await drafted : drafted;
    const store = (named: KubeObject): Promise<Outcome> => {
      const write = perform(resource.clock, call, prepareWrite(resource, named, options));
      return write instanceof Promise
        ? write.then((waitedFor) => storeNew(resource, waitedFor, options, call))
        : storeNew(resource, write, options, call);
    };
    const { name: given, generateName } = draft.metadata;
    // Who leaves the choice to the server and makes one himself is told the same as if the server had made it.
    if (given !== undefined) return generateName ? store(draft).catch(throwNameConflict) : store(draft);
    for (let tries = 1; ; tries++) {
      const name = generateName && generatedName(generateName, resource.random);
      const named = { ...draft, metadata: { ...draft.metadata, ...(name && { name }) } };
      try {
        return await store(named);
      } catch (error) {
        if (!isTaken(error)) throw error;
        if (tries === generatedNameTriesMax) throw generatedNameConflict(error);
      }
    }
  });
}

function* mutateDraft(resource: Resource, incoming: KubeObject, options: WriteOptions): Work<KubeObject> {
  const fresh = yield* initializeObject(resource, incoming, options);
  const { name } = fresh.metadata;
  const wanted = yield* resultOf(
    mutate(resource, options, { operation: 'CREATE', name, object: fresh, oldObject: undefined }),
  );
  return wanted === fresh ? fresh : yield* completeMutated(resource, wanted, fresh, options, false);
}

/**
 * What admission has changed is held to what holds for a writer: its identity and the fields of other paths stay, what
 * is left out gets its defaults. Who owns which field is as before if admission has made it unreadable.
 */
export function* completeMutated(
  resource: Resource,
  mutated: KubeObject,
  before: KubeObject,
  options: WriteOptions,
  isUpdate: boolean,
): Work<KubeObject> {
  const { kind } = resource;
  const { namespace, part, warn } = options;
  requireBoundedLabels(kind, mutated);
  const bound = isUpdate ? boundTo(kind, part, mutated, before) : writableOf(kind, undefined, mutated);
  const placed = inNamespace(withSystemFieldsOf(before, bound), namespace);
  const object = withDistinctOwners(kind.defaults?.(placed) ?? placed, warn);
  if (yield* hasValidManagedFields(kind.schema, object)) return object;
  warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests',
  );
  return withManagedFields(object, before.metadata.managedFields);
}

interface Write {
  readonly object: KubeObject;
  /** Undefined where nothing is written. */
  readonly bytes: ByteString | undefined;
}

function* prepareWrite(resource: Resource, named: KubeObject, options: WriteOptions): Work<Write> {
  const object = yield* validateNewObject(resource, named, options);
  yield;
  return { object, bytes: options.dryRun ? undefined : encodeStored(object) };
}

/** The object that a creation would store, without the store. Throws the answer if its kind refuses it. */
export const buildObject = async (
  resource: ResourceKind,
  incoming: KubeObject,
  options: WriteOptions,
): Promise<KubeObject> => perform(resource.clock, undefined, initializeAndValidate(resource, incoming, options));

function* initializeAndValidate(resource: ResourceKind, incoming: KubeObject, options: WriteOptions): Work<KubeObject> {
  return yield* validateNewObject(resource, yield* initializeObject(resource, incoming, options), options);
}

/** A new object with an owner for each of its fields and an identity, but perhaps no name yet. */
export function* initializeObject(
  resource: ResourceKind,
  incoming: KubeObject,
  options: WriteOptions,
): Work<KubeObject> {
  const { kind, served, clock } = resource;
  requireBoundedLabels(kind, incoming);
  const version = incoming.metadata.resourceVersion;
  if (version !== undefined && version !== '0')
    throw badRequest('resourceVersion should not be set on objects to be created');
  const given = writableOf(kind, undefined, withoutSystemFields(incoming));
  const own = withDistinctOwners(inNamespace(kind.defaults?.(given) ?? given, options.namespace), options.warn);
  const writer = { manager: options.manager, apiVersion: served.apiVersion, time: formatTime(clock.now()) };
  const managedFields = yield* managedFieldsAfterUpdate(kind.schema, emptyObjectOf(kind), own, writer);
  return withIdentity(withManagedFields(own, managedFields), resource);
}

/** A new object with its name, as its kind wants it and in canonical form, or an answer that says all that is wrong with it. */
export function* validateNewObject({ kind }: ResourceKind, draft: KubeObject, options: WriteOptions): Work<KubeObject> {
  const object = canonical(kind, kind.prepare?.(draft, undefined) ?? draft);
  yield;
  requireBoundedValues(object);
  // Whatever is wrong with its form is told first: the rules of the kind rely on it.
  const errors = kind.validate?.(object, undefined) ?? [];
  const more = kind.validateInSteps ? yield* kind.validateInSteps(object, undefined) : [];
  const all = [...validateObjectMeta(object.metadata, kind), ...errors, ...more];
  if (all.length > 0) throw invalid(errorKindOf(kind), object.metadata.name ?? '', all);
  for (const warning of kind.warnings?.(object, undefined) ?? []) options.warn(warning);
  return object;
}

/** Refuses at once what would be a lot of work for each label, and refused in the end. */
export function requireBoundedLabels(kind: Kind, { metadata }: KubeObject): void {
  const errors = labelCountErrors(metadata);
  if (errors.length > 0) throw invalid(errorKindOf(kind), metadata.name ?? '', errors);
}

/** A mistake in its form is told by the names of that form, which for a view are not those that it is served under. */
export const errorKindOf = ({ schema, ...kind }: Kind): { readonly group: string; readonly kind: string } =>
  schema.publication?.groupVersionKind ?? kind;

export function withManagedFields(
  object: KubeObject,
  managedFields: KubeObject['metadata']['managedFields'],
): KubeObject {
  return managedFields ? { ...object, metadata: { ...object.metadata, managedFields } } : withoutManagedFields(object);
}

const empties = new WeakMap<ServedKind, KubeObject>();

/** What an object is compared with that was not there before. */
export function emptyObjectOf(kind: ServedKind): KubeObject {
  let empty = empties.get(kind);
  if (!empty)
    empties.set(kind, (empty = canonical(kind, { kind: kind.kind, apiVersion: kind.apiVersion, metadata: {} })));
  return empty;
}

async function storeNew(
  resource: Resource,
  { object, bytes }: Write,
  options: WriteOptions,
  call: Call,
): Promise<Outcome> {
  const { kind, store, collection } = resource;
  const name = object.metadata.name as string; // finished() refuses an object without one
  const { key, itemKey } = placeOf(resource, options.namespace, name);
  const taken = (current: Stored): StatusError =>
    alreadyExists(kind, name, isBeingDeleted(kind, current, itemKey) ? 'object is being deleted: ' : '');
  try {
    if (bytes === undefined) {
      await admit(resource, options, { operation: 'CREATE', name, object, oldObject: undefined });
      const { stored: current } = await store.get(key, call);
      if (current) throw taken(current);
      return new WrittenObject(object, undefined);
    }
    const { timeToLiveSeconds } = kind;
    const revision = await createAdmitted(resource, object, options, call, (premises) =>
      store.create(key, bytesOf(bytes), { timeToLiveSeconds, source: object, premises }, call),
    );
    collection.wrote(revision);
    return new WrittenObject(object, revision, bytes);
  } catch (error) {
    if (error instanceof KeyExistsError) throw taken(error.current);
    // What cannot be read has its name all the same.
    if (error instanceof CorruptValueError && error.keys.includes(key)) throw alreadyExists(kind, name, '', error);
    throw error;
  }
}

function isBeingDeleted(kind: Kind, current: Stored, itemKey: ByteString): boolean {
  try {
    return readStored(kind, current, itemKey).object.metadata.deletionTimestamp !== undefined;
  } catch (error) {
    if (error instanceof CorruptValueError) return false;
    throw error;
  }
}

const isTaken = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.reason === 'AlreadyExists';

function throwNameConflict(error: unknown): never {
  throw isTaken(error) ? generatedNameConflict(error) : error;
}

const generatedNameConflict = (last: StatusError): StatusError =>
  new StatusError(
    'AlreadyExists',
    `${last.message}, the server was not able to generate a unique name for the object`,
    { ...last.details, retryAfterSeconds: 1 },
    { cause: last },
  );
