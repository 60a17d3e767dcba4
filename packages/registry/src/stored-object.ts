import {
  type Call,
  type Clock,
  keepText,
  largeBytesMin,
  runTask,
  setOwn,
  type SyncTask,
} from '@cluster-apiserver/base';
import {
  type ByteString,
  byteString,
  bytesOf,
  toClientForm,
  decodeStored,
  decodeStoredInSteps,
  flatten,
  toStoredForm,
  uidOf,
  withResourceVersion,
} from '@cluster-apiserver/model/codec';
import {
  type Kind,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type Renewed,
} from '@cluster-apiserver/model/kind';
import { sameJson } from '@cluster-apiserver/model/json';
import { type ShardSelector, shardHash } from '@cluster-apiserver/model/selector';
import {
  type CacheItem,
  type CollectionDescriptor,
  CorruptValueError,
  type Entry,
  type Revision,
  type StoredValue,
  textOfItemKey,
} from '@cluster-apiserver/storage';
import type { Outcome } from './outcome.ts';

/**
 * One stored version of an object, with the JSON that clients get and the values that it is indexed by. It is parsed
 * once, when it arrives; afterwards its bytes are only copied.
 */
export class StoredObject implements Outcome, CacheItem {
  readonly unreadable?: undefined;
  /** `namespace/name`, or the name alone, as bytes. */
  readonly key: ByteString;
  readonly revision: Revision;
  readonly json: ByteString;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The values of its kind's selectable fields. */
  readonly fields: Readonly<Record<string, string>> | undefined;
  /** Owners and deletion; undefined for the many objects that have no owners, no finalizers and are not being deleted. */
  readonly lifecycle: Lifecycle | undefined;
  /** A write without changes should still store it again, such as after a key rotation or if another server wrote it. */
  readonly stale: boolean;
  #uidHash: string | undefined;

  constructor(kind: Kind, key: ByteString, entry: StoredValue) {
    const { value, revision, stale } = entry;
    const written = writtenObjectOf(kind, entry);
    // What this replica wrote is up to date.
    const { value: own, object: renewed, isFormer = false }: Renewed = written ? { value } : renewedOf(kind, entry);
    const stored = byteString(own);
    const object = renewed ?? written ?? decodeStored(stored);
    // Everything else was checked before it was written. The resourceVersion is inserted after the uid.
    if (typeof object.metadata?.uid !== 'string') throw new StoredFormError('it is no object of this server');
    // Not every encryption provider binds a value to its key, so the metadata must match the key.
    const { namespace, name } = object.metadata;
    if (textOfItemKey(key) !== (kind.namespaced ? `${namespace}/${name}` : name))
      throw new StoredFormError('it is the object of another place');
    this.key = key;
    this.revision = revision;
    this.json = flatten(toClientForm(stored, revision));
    const { labels } = object.metadata;
    const fields = kind.fieldsOf?.(object);
    this.labels = labels && ownTexts(labels, written !== undefined);
    this.fields = fields && ownTexts(fields, written !== undefined);
    const lifecycle = lifecycleOf(object.metadata);
    this.lifecycle = lifecycle && written ? ownLifecycle(lifecycle) : lifecycle;
    this.stale = stale || isFormer || own !== value;
    this.#keepDecoded(object);
  }

  get object(): KubeObject {
    return this.#decoded ?? this.#keepDecoded(decodeStored(this.storedForm));
  }

  /** The object, which is decoded in steps if it is large. */
  *decode(): SyncTask<KubeObject> {
    return this.#decoded ?? this.#keepDecoded(yield* decodeStoredInSteps(this.storedForm));
  }

  get #decoded(): KubeObject | undefined {
    return decodedObjects.get(this)?.deref();
  }

  #keepDecoded(object: KubeObject): KubeObject {
    if (this.json.length >= keptDecodedMin) decodedObjects.set(this, new WeakRef(object));
    return object;
  }

  /** The value before encryption. */
  get storedForm(): ByteString {
    return toStoredForm(this.json);
  }

  /** Empty for cluster-scoped objects. */
  get namespace(): string {
    return textOfItemKey(this.key.slice(0, Math.max(0, this.key.indexOf('/'))));
  }

  get name(): string {
    return textOfItemKey(this.key.slice(this.key.indexOf('/') + 1));
  }

  get uid(): string {
    return uidOf(this.json);
  }

  /** The hash that shards are ranges of. The hash of a namespace is not kept with each of its objects. */
  shardHashOf(path: ShardSelector['path']): string {
    if (path === 'object.metadata.namespace') return shardHash(this.namespace);
    return (this.#uidHash ??= shardHash(this.uid));
  }

  get weight(): number {
    return this.json.length + overheadBytes;
  }
}

/** Decoding a shorter one takes a millisecond or two, and keeps nothing until the next collection of the old generation. */
const keptDecodedMin = 256 * 1024;

/** Large objects, as long as they are in memory anyway: each takes several times its bytes. */
const decodedObjects = new WeakMap<StoredObject, WeakRef<KubeObject>>();

/** The object that this replica wrote, without a resourceVersion. It spares parsing its bytes when they come back. */
export class WrittenValue {
  readonly kind: Kind;
  readonly object: KubeObject;

  constructor(kind: Kind, object: KubeObject) {
    this.kind = kind;
    this.object = object;
  }
}

const writtenObjectOf = (kind: Kind, { source }: StoredValue): KubeObject | undefined =>
  source instanceof WrittenValue && source.kind === kind ? source.object : undefined;

/** Large values that have been renewed in steps, until they are read. */
const renewedInSteps = new WeakMap<StoredValue, { readonly kind: Kind; readonly renewed: Renewed }>();

function renewedOf(kind: Kind, entry: StoredValue): Renewed {
  const known = entry.value.length < largeBytesMin ? undefined : renewedInSteps.get(entry);
  // The kind may have been replaced meanwhile.
  return known?.kind === kind ? known.renewed : kind.storage.form.renew(entry.value, kind);
}

/** Renews a large value in steps, so that it is read at once; undefined if it is anyway. */
function prepareStored(kind: Kind, entry: StoredValue): SyncTask<void> | undefined {
  const isShort = entry.value.length < largeBytesMin;
  return isShort || writtenObjectOf(kind, entry) ? undefined : renewStored(kind, entry);
}

function* renewStored(kind: Kind, entry: StoredValue): SyncTask<void> {
  try {
    renewedInSteps.set(entry, { kind, renewed: yield* kind.storage.form.renewInSteps(entry.value, kind) });
  } catch {
    // It fails again where it is read, which reports it.
  }
}

/** The texts as strings that keep nothing else in memory. `areSlices`: they may be slices of a whole request body. */
function ownTexts(texts: Readonly<Record<string, string>>, areSlices: boolean): Record<string, string> {
  // A spread has the layout of its source. Added one by one, the keys would take 16 bytes more for each object.
  const own: Record<string, string> = { ...texts };
  for (const key in texts) {
    const text = texts[key];
    if (text !== undefined) setOwn(own, key, ownText(text, areSlices));
  }
  return own;
}

function ownText(text: string, isSlice: boolean): string {
  if (text.length <= tableCharactersMax) return sharedText(text);
  return isSlice && text.length >= cutCharactersMin ? keepText(text) : text;
}

/** Shorter texts are always copied by V8. */
const cutCharactersMin = 13;

/**
 * V8's JSON parser enters strings of this length into a table of the process. Each full collection walks the whole table
 * while the process stands still: up to 16 ms with 500,000 label values. See docs/decisions/0060-loop.md.
 */
const tableCharactersMax = 10;

/** Copies that are not in V8's table. Most short texts occur in many objects, which share one copy. */
const sharedTexts = new Map<string, string>();
const sharedTextsMax = 1_000;

function sharedText(text: string): string {
  const found = sharedTexts.get(text);
  if (found !== undefined) return found;
  const copy = keepText(text);
  if (sharedTexts.size === sharedTextsMax) sharedTexts.clear();
  sharedTexts.set(copy, copy);
  return copy;
}

/** The metadata that controllers act on, as the object has it. */
export interface Lifecycle {
  readonly ownerReferences: readonly OwnerReference[] | undefined;
  readonly finalizers: readonly string[] | undefined;
  readonly deletionTimestamp: string | undefined;
}

function lifecycleOf({ ownerReferences, finalizers, deletionTimestamp }: ObjectMeta): Lifecycle | undefined {
  const isEmpty = !ownerReferences && !finalizers && deletionTimestamp === undefined;
  return isEmpty ? undefined : { ownerReferences, finalizers, deletionTimestamp };
}

/** A copy that keeps nothing else of the object in memory. */
const ownLifecycle = (lifecycle: Lifecycle): Lifecycle =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is of the same form
  ({ ...absentLifecycle, ...(JSON.parse(JSON.stringify(lifecycle)) as Lifecycle) });
const absentLifecycle = { ownerReferences: undefined, finalizers: undefined, deletionTimestamp: undefined };

/** Key, labels, fields and the object itself, as measured by packages/tests/bench/event-loop.ts. */
const overheadBytes = 400;

/** A stored value that cannot be decrypted or decoded. */
class UnreadableObject implements CacheItem {
  readonly key: ByteString;
  readonly revision: Revision;
  readonly unreadable: CorruptValueError;
  /** Whether it could not be decrypted. Another replica may have its key. */
  readonly isEncrypted: boolean;
  readonly weight = overheadBytes;

  constructor(key: ByteString, revision: Revision, unreadable: CorruptValueError, isEncrypted: boolean) {
    this.key = key;
    this.revision = revision;
    this.unreadable = unreadable;
    this.isEncrypted = isEncrypted;
  }
}

export type CachedObject = StoredObject | UnreadableObject;

/** The last state of an object that was removed, or ceased to match, with the revision of that write. */
export class DeletedObject implements Outcome {
  readonly revision: Revision;
  readonly #last: StoredObject;
  #json: ByteString | undefined;

  constructor(last: StoredObject, revision: Revision) {
    this.#last = last;
    this.revision = revision;
  }

  get json(): ByteString {
    this.#json ??= withResourceVersion(this.#last.json, this.revision);
    return this.#json;
  }

  get object(): KubeObject {
    return this.#last.object;
  }
}

/** The index term of unreadable objects. */
export const unreadableTerm = 'unreadable';
export const labelTerm = (key: string, value: string): string => `label ${key}=${value}`;
export const fieldTerm = (field: string, value: string): string => `field ${field}=${value}`;

/** The kind that the objects of a collection are read by, which may change. */
export interface CollectionKind {
  kind: Kind;
}

/** Where objects of a kind are stored, and how they are kept in memory. */
export function collectionFormOf(held: CollectionKind, keyPrefix: string): CollectionDescriptor<CachedObject> {
  return {
    prefix: `${keyPrefix}/${held.kind.storage.prefix}/`,
    prepare: (entry) => (entry.unreadable ? undefined : prepareStored(held.kind, entry)),
    read: (entry, key) => readEntry(held.kind, entry, key),
    termsOf: (item) => (item.unreadable ? [unreadableTerm] : termsOf(held.kind, item)),
  };
}

/** What is read in one step takes about a millisecond. */
const charactersPerStep = largeBytesMin;

/** Whether a kind reads the objects of a collection as they are in memory. */
export function* isReadAlike(kind: Kind, items: Iterable<CachedObject>): SyncTask<boolean> {
  let read = 0;
  for (const item of items) {
    // What was pruned from it is not in memory.
    if (item.unreadable || item.stale || !(yield* isSameRead(kind, item))) return false;
    read += item.weight;
    if (read < charactersPerStep) continue;
    read = 0;
    yield;
  }
  return true;
}

function* isSameRead(kind: Kind, item: StoredObject): SyncTask<boolean> {
  const { key, revision, stale, storedForm, json, fields } = item;
  const entry = { key: textOfItemKey(key), value: bytesOf(storedForm), revision, stale };
  const preparing = prepareStored(kind, entry);
  if (preparing) yield* preparing;
  const again = readEntry(kind, entry, key);
  return !again.unreadable && again.json === json && sameJson(again.fields, fields);
}

function readEntry(kind: Kind, entry: Entry, key: ByteString): CachedObject {
  if (entry.unreadable) return new UnreadableObject(key, entry.revision, entry.unreadable, true);
  try {
    return readStored(kind, entry, key);
  } catch (error) {
    if (error instanceof CorruptValueError) return new UnreadableObject(key, entry.revision, error, false);
    throw error;
  }
}

/** Throws CorruptValueError if the value is not the object of its key. */
export function readStored(kind: Kind, stored: StoredValue, key: ByteString): StoredObject {
  try {
    return new StoredObject(kind, key, stored);
  } catch (cause) {
    throw new CorruptValueError([stored.key], { cause: withoutContent(cause) });
  }
}

/** The same in time slices, if the value is large. */
export async function readStoredInSlices(
  { stored: kind, clock }: { readonly stored: Kind; readonly clock: Clock },
  stored: StoredValue,
  key: ByteString,
  call: Call,
): Promise<StoredObject> {
  const preparing = prepareStored(kind, stored);
  if (preparing) await runTask(clock, call, preparing, true);
  return readStored(kind, stored, key);
}

/** A fault of a stored value. Its message contains nothing of the value. */
class StoredFormError extends Error {
  override readonly name = 'StoredFormError';
}

/** Parsers quote their input, which may be confidential and must not be logged. */
const withoutContent = (cause: unknown): StoredFormError =>
  cause instanceof StoredFormError
    ? cause
    : new StoredFormError(`it cannot be decoded: ${cause instanceof Error ? cause.name : typeof cause}`);

function termsOf(kind: Kind, { labels, fields }: StoredObject): string[] {
  const terms: string[] = [];
  for (const key in labels) {
    const value = labels[key];
    if (value !== undefined) terms.push(labelTerm(key, value));
  }
  for (const field of kind.indexedFields) {
    const value = fields?.[field];
    if (value) terms.push(fieldTerm(field, value));
  }
  return terms;
}
