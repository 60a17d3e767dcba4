import { setOwn } from '@cluster-apiserver/base';
import {
  type ByteString,
  byteString,
  toClientForm,
  decodeStored,
  flatten,
  type Kind,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  toCanonical,
  type ShardSelector,
  shardHash,
  toStoredForm,
  uidOf,
  withResourceVersion,
} from '@cluster-apiserver/model';
import {
  type CacheItem,
  type CollectionForm,
  CorruptValueError,
  type Entry,
  type Revision,
  type Stored,
  textOfKey,
  type Unreadable,
} from '@cluster-apiserver/storage';
import type { Outcome } from './outcome.ts';

/**
 * One version of an object as the store has it, ready for every reader: what clients get, and what the object can be
 * found by. It is looked into once, when it comes; afterwards it is only copied.
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
  /** It should be written again although it is the same, such as after a key rotation or if another server wrote it. */
  readonly stale: boolean;
  #uidHash: string | undefined;

  constructor(kind: Kind, key: ByteString, { value, revision, stale, source }: Stored) {
    const own = toCanonical(kind, value);
    const stored = byteString(own);
    const object = reusableSource(source) ?? decodeStored(stored);
    // Everything else about it was checked before it was written; without a uid nothing says where its version belongs.
    if (typeof object.metadata?.uid !== 'string') throw new StoredFormError('it is no object of this server');
    // Not every encryption binds a value to its place, so the object says where it belongs.
    const { namespace, name } = object.metadata;
    if (textOfKey(key) !== (kind.namespaced ? `${namespace}/${name}` : name))
      throw new StoredFormError('it is the object of another place');
    this.key = key;
    this.revision = revision;
    this.json = flatten(toClientForm(stored, revision));
    const { labels } = object.metadata;
    const fields = kind.fieldsOf?.(object);
    this.labels = source && labels ? copyTexts(labels) : labels;
    this.fields = source && fields ? copyTexts(fields) : fields;
    this.lifecycle = lifecycleOf(object.metadata);
    this.stale = stale || own !== value;
  }

  get object(): KubeObject {
    return decodeStored(this.storedForm);
  }

  /** What is under its key, before it is transformed. */
  get storedForm(): ByteString {
    return toStoredForm(this.json);
  }

  /** Empty for what lies in none. */
  get namespace(): string {
    return textOfKey(this.key.slice(0, Math.max(0, this.key.indexOf('/'))));
  }

  get name(): string {
    return textOfKey(this.key.slice(this.key.indexOf('/') + 1));
  }

  get uid(): string {
    return uidOf(this.json);
  }

  /** What shards part the objects by. A namespace has many objects and one hash, which nobody needs to keep. */
  shardHashOf(path: ShardSelector['path']): string {
    if (path === 'object.metadata.namespace') return shardHash(this.namespace);
    return (this.#uidHash ??= shardHash(this.uid));
  }

  get weight(): number {
    return this.json.length + overheadBytes;
  }
}

/** The object whose bytes have come back, unless more of it would be kept than a few texts. */
function reusableSource(source: object | undefined): KubeObject | undefined {
  const object = source as KubeObject | undefined; // every write of this package names the object
  return object && !lifecycleOf(object.metadata) ? object : undefined;
}

/** A text of the writer may be cut out of a whole request, which would be kept in memory with it. */
function copyTexts(texts: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const key in texts) setOwn(own, key, copyText(texts[key] as string));
  return own;
}

const copyText = (text: string): string => (text.length < cutCharactersMin ? text : Buffer.from(text).toString());

/** Shorter texts are always copied by V8. */
const cutCharactersMin = 13;

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

/** Key, labels, fields and the object itself; measured, see docs/performance.md. */
const overheadBytes = 400;

/** Something is stored and cannot be read. */
class UnreadableObject implements CacheItem {
  readonly key: ByteString;
  readonly revision: Revision;
  readonly unreadable: CorruptValueError;
  readonly weight = overheadBytes;
  #isPending: boolean;

  constructor(
    key: ByteString,
    { revision, late }: Pick<Unreadable, 'revision' | 'late'>,
    unreadable: CorruptValueError,
  ) {
    this.key = key;
    this.revision = revision;
    this.unreadable = unreadable;
    this.#isPending = late !== undefined;
    void late?.then(() => (this.#isPending = false));
  }

  /** Whether it is still being read: it takes longer than others should wait. */
  get isPending(): boolean {
    return this.#isPending;
  }
}

export type CachedObject = StoredObject | UnreadableObject;

/** The last state of an object that is gone, or out of view, as of the write that took it away. */
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

/** A term that finds what cannot be read: it might be anything that is looked for. */
export const unreadableTerm = 'unreadable';
export const labelTerm = (key: string, value: string): string => `label ${key}=${value}`;
export const fieldTerm = (field: string, value: string): string => `field ${field}=${value}`;

/** Where objects of a kind are stored, and how they are kept in memory. */
export function collectionFormOf(kind: Kind, keyPrefix: string): CollectionForm<CachedObject> {
  return {
    prefix: `${keyPrefix}/${kind.storageName}/`,
    read: (entry, key) => readEntry(kind, entry, key),
    termsOf: (item) => (item.unreadable ? [unreadableTerm] : termsOf(kind, item)),
  };
}

function readEntry(kind: Kind, entry: Entry, key: ByteString): CachedObject {
  if (entry.unreadable) return new UnreadableObject(key, entry, entry.unreadable);
  try {
    return readStored(kind, entry, key);
  } catch (error) {
    if (error instanceof CorruptValueError) return new UnreadableObject(key, entry, error);
    throw error;
  }
}

/** Throws a CorruptValueError when what is stored is no object, or that of another place. */
export function readStored(kind: Kind, stored: Stored, key: ByteString): StoredObject {
  try {
    return new StoredObject(kind, key, stored);
  } catch (cause) {
    throw new CorruptValueError([stored.key], { cause: withoutContent(cause) });
  }
}

/** What is wrong with stored bytes. Its message holds none of them. */
class StoredFormError extends Error {
  override readonly name = 'StoredFormError';
}

/** Parsers quote what they cannot read, and it may be what nobody should find in a log. */
const withoutContent = (cause: unknown): StoredFormError =>
  cause instanceof StoredFormError
    ? cause
    : new StoredFormError(`it cannot be decoded: ${cause instanceof Error ? cause.name : typeof cause}`);

function termsOf(kind: Kind, { labels, fields }: StoredObject): string[] {
  const terms: string[] = [];
  for (const key in labels) terms.push(labelTerm(key, labels[key] as string));
  for (const field of kind.indexedFields) {
    const value = fields?.[field];
    if (value) terms.push(fieldTerm(field, value));
  }
  return terms;
}
