import type { Revision } from './revision.ts';
import type { StoredValue } from './store.ts';

export class KeyExistsError extends Error {
  override readonly name = 'KeyExistsError';
  readonly current: StoredValue;
  constructor(current: StoredValue) {
    super(`${current.key} has a value since revision ${current.revision}`);
    this.current = current;
  }
}

export class RevisionMismatchError extends Error {
  override readonly name = 'RevisionMismatchError';
  /** What is there instead; undefined when the key has no value. */
  readonly current: StoredValue | undefined;
  constructor(key: string, expected: Revision, current: StoredValue | undefined) {
    super(`${key} is at revision ${current?.revision ?? 'none'}, not at ${expected}`);
    this.current = current;
  }
}

/** What a write relied on has been written since, or is gone. Nothing was written. */
export class PreconditionFailedError extends Error {
  override readonly name = 'PremiseBrokenError';
  /** When it was seen to be so: what is known at this revision tells why. */
  readonly revision: Revision;
  constructor(key: string, at: Revision) {
    super(`what the creation of ${key} relied on does not hold at revision ${at}`);
    this.revision = at;
  }
}

export class RevisionCompactedError extends Error {
  override readonly name = 'RevisionCompactedError';
  /** The oldest revision that can still be read; undefined where etcd does not tell. */
  readonly oldestRevision: Revision | undefined;
  constructor(asked: Revision, oldest?: Revision, options?: ErrorOptions) {
    super(`revision ${asked} is no longer kept`, options);
    this.oldestRevision = oldest;
  }
}

export class RevisionTooLargeError extends Error {
  override readonly name = 'RevisionTooLargeError';
  constructor(asked: Revision, options?: ErrorOptions) {
    super(`revision ${asked} lies in the future`, options);
  }
}

/** The store cannot answer now: no member answers, no leader is elected, or the time of the call is over. */
export class StorageUnavailableError extends Error {
  override readonly name: string = 'StorageUnavailableError';
}

/** What was known is of another history: the store was restored, rebuilt or swapped. Nothing was written. */
export class HistoryReplacedError extends StorageUnavailableError {
  override readonly name = 'HistoryReplacedError';
  constructor(options?: ErrorOptions) {
    super('etcd has another history than before: its data were restored or replaced', options);
  }
}

/** A write may have been applied, now or later, and nobody can tell: it must not be repeated blindly. */
export class WriteInDoubtError extends StorageUnavailableError {
  override readonly name = 'WriteInDoubtError';
  constructor(key: string, options?: ErrorOptions) {
    super(`nobody can tell whether ${key} was written`, options);
  }
}

/** The store takes no more data (etcd's NOSPACE alarm): reads and deletions still work. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/** A value is larger than the store takes. */
export class ValueTooLargeError extends Error {
  override readonly name = 'ValueTooLargeError';
}

/** A stored value cannot be read: its transformer refused it, or the key for it cannot be had. */
export class CorruptValueError extends Error {
  override readonly name = 'CorruptValueError';
  readonly keys: readonly string[];
  /** False when it may be readable again by itself. */
  readonly isPermanent: boolean;
  constructor(keys: readonly string[], options?: ErrorOptions) {
    super(`cannot read what is stored under ${keys.slice(0, 100).join(', ')}`, options);
    this.keys = keys;
    const cause = options?.cause;
    this.isPermanent = cause instanceof CorruptValueError ? cause.isPermanent : !(cause instanceof KeyUnavailableError);
  }
}

/** The key of a value cannot be had at present: whoever keeps it does not answer. The value itself may be whole. */
export class KeyUnavailableError extends StorageUnavailableError {
  override readonly name = 'KeyUnavailableError';
}
