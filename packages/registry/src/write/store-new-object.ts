import { awaitValue, type Call, invariant, requireValue, type Task, throwIfAborted } from '@cluster-apiserver/base';
import { alreadyExists, StatusError } from '@cluster-apiserver/model';
import { type ByteString, bytesOf, encodeStored, encodeStoredInSteps } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  CorruptValueError,
  KeyExistsError,
  PreconditionFailedError,
  type Revision,
  revision,
  type StoredValue,
} from '@cluster-apiserver/storage';
import { toVersion } from '../conversion.ts';
import { type Outcome, WrittenObject } from '../outcome.ts';
import { type Place, placeOf, type Resource } from '../resource.ts';
import { readStoredInSlices, WrittenValue } from '../stored-object.ts';
import { admit, type AdmissionOptions } from './admission.ts';
import { canonicalInSteps } from './system-fields.ts';

/** An object in its stored version. */
export interface EncodedObject {
  readonly bytes: ByteString;
  /** As it will be read: what was converted gets the defaults of the stored version, which are not stored. */
  readonly read: KubeObject;
  /** What is written; undefined if it has to be read again. */
  readonly source: WrittenValue | undefined;
}

export function* encodeObject(resource: Resource, decided: KubeObject, call: Call): Task<EncodedObject> {
  const { kind, stored } = resource;
  const object = yield* awaitValue(toVersion(kind, decided, stored, call));
  // What other kinds may hold is written in some milliseconds.
  const bytes = kind.valuesMax === undefined ? encodeStored(object) : yield* encodeStoredInSteps(object);
  return object === decided
    ? { bytes, read: object, source: new WrittenValue(stored, object) }
    : { bytes, read: yield* canonicalInSteps(stored, object), source: undefined };
}

export const writtenObject = ({ bytes, read, source }: EncodedObject, at: Revision): WrittenObject =>
  new WrittenObject(read, at, source && bytes);

/** A new object that is ready to be stored. */
export interface NewWrite {
  /** In the version in which writes are decided. */
  readonly decided: KubeObject;
  readonly stored: EncodedObject;
}

/** What a create writes; undefined in a dry run. */
export type NewObject = Omit<NewWrite, 'stored'> & Partial<NewWrite>;

/** Admits and stores a new object. In a dry run it only looks whether the name is taken. */
export async function storeNewObject(
  resource: Resource,
  { decided, stored }: NewObject,
  options: AdmissionOptions,
  call: Call,
): Promise<Outcome> {
  const { served, store, collection } = resource;
  const name = requireValue(decided.metadata.name, 'validateNewObject rejects an object without a name');
  const { key, itemKey } = placeOf(resource, options.namespace, name);
  const taken = async (current: StoredValue): Promise<StatusError> =>
    alreadyExists(
      served,
      name,
      (await isBeingDeleted(resource, current, itemKey, call)) ? 'object is being deleted: ' : '',
    );
  try {
    if (stored) {
      const storedAt = await createAdmitted(resource, { key, itemKey }, { decided, stored }, options, call);
      collection.noteLocalWrite(storedAt);
      return writtenObject(stored, storedAt);
    }
    await admit(resource, options, { operation: 'CREATE', name, object: decided, oldObject: undefined });
    const { stored: current } = await store.get(key, call);
    if (current) throw await taken(current);
    return new WrittenObject(decided, undefined);
  } catch (error) {
    if (error instanceof KeyExistsError) throw await taken(error.current);
    // An unreadable object takes its name, too.
    if (error instanceof CorruptValueError && error.keys.includes(key)) throw alreadyExists(served, name, '', error);
    throw error;
  }
}

async function isBeingDeleted(
  resource: Resource,
  current: StoredValue,
  itemKey: ByteString,
  call: Call,
): Promise<boolean> {
  try {
    const { lifecycle } = await readStoredInSlices(resource, current, itemKey, call);
    return lifecycle?.deletionTimestamp !== undefined;
  } catch (error) {
    if (error instanceof CorruptValueError) return false;
    throw error;
  }
}

/** A try fails only if another write broke a precondition meanwhile, so this many tries are far beyond bad luck. */
const triesMax = 100;

/**
 * Stores an object under the preconditions that admission returns, such as that its namespace is not terminating.
 * Admits it again when another write has broken a precondition.
 */
export async function createAdmitted(
  resource: Resource,
  { key, itemKey }: Place,
  { decided, stored: { bytes, source } }: NewWrite,
  options: AdmissionOptions,
  call: Call,
): Promise<Revision> {
  const { stored: kind, store, collection } = resource;
  const { timeToLiveSeconds } = kind;
  const value = bytesOf(bytes);
  const { name } = decided.metadata;
  const admission = { operation: 'CREATE', name, object: decided, oldObject: undefined } as const;
  for (let tries = 1; ; tries++) {
    throwIfAborted(call);
    const admitted = admit(resource, options, admission);
    const { preconditions: given, store: storeWith } = admitted instanceof Promise ? await admitted : admitted;
    const elsewhere = given.flatMap(({ whole }) => (whole && whole.feed !== collection.feed ? whole : []));
    const preconditions =
      elsewhere.length === 0 ? given : given.filter(({ whole }) => !whole || whole.feed === collection.feed);
    const within = elsewhere.map(({ uid }) => uid);
    const storeAlone = (): Promise<Revision> =>
      store.create(key, value, { timeToLiveSeconds, source, preconditions, within }, call);
    try {
      if (!storeWith) return await storeAlone();
      invariant(timeToLiveSeconds === undefined, 'objects that expire are not counted');
      const mayBeTaken = nameCheck(resource, itemKey);
      return revision(
        await storeWith({ key, value, source, preconditions, within, mayBeTaken, feed: collection.feed, storeAlone }),
      );
    } catch (error) {
      if (!(error instanceof PreconditionFailedError)) throw error;
      if (tries === triesMax)
        throw new StatusError(
          'ServiceUnavailable',
          'a precondition of the object, such as the state of its namespace, keeps changing; please try again',
          { retryAfterSeconds: 1 },
          { cause: error },
        );
      await collection.waitUntilFresh(error.revision, call);
      await Promise.all(elsewhere.map((one) => one.refresh(call)));
    }
  }
}

const nameCheck =
  ({ collection }: Resource, itemKey: string) =>
  (): boolean =>
    !collection.isReady || collection.get(itemKey) !== undefined;
