import type { Revision } from './revision.ts';
import type { StoredValue } from './stored-value.ts';

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
  /** The present value; undefined if the key has none. */
  readonly current: StoredValue | undefined;
  constructor(key: string, expected: Revision, current: StoredValue | undefined) {
    super(`${key} is at revision ${current?.revision ?? 'none'}, not at ${expected}`);
    this.current = current;
  }
}

/** A precondition of a create failed, so nothing was written. */
export class PreconditionFailedError extends Error {
  override readonly name = 'PreconditionFailedError';
  /** The revision at which it failed; the state at this revision shows why. */
  readonly revision: Revision;
  constructor(key: string, at: Revision) {
    super(`a precondition of the creation of ${key} does not hold at revision ${at}`);
    this.revision = at;
  }
}

/**
 * The state at a revision and the changes after it are gone. Whatever the way in which they are lost, this error is thrown
 * where it is noticed, and the client has to list again.
 */
export class RevisionCompactedError extends Error {
  override readonly name: string = 'RevisionCompactedError';
  readonly asked: Revision;
  /** The oldest revision that can still be read; undefined if etcd does not report it. */
  readonly oldestRevision: Revision | undefined;
  constructor(asked: Revision, oldest?: Revision, options?: ErrorOptions) {
    super(`revision ${asked} is no longer kept`, options);
    this.asked = asked;
    this.oldestRevision = oldest;
  }
}

/** The revision belongs to a history that was replaced, whether the present one has reached its number or not. */
export class RevisionReplacedError extends RevisionCompactedError {
  override readonly name = 'RevisionReplacedError';
}

export class RevisionTooLargeError extends Error {
  override readonly name = 'RevisionTooLargeError';
  constructor(asked: Revision, options?: ErrorOptions) {
    super(`revision ${asked} is in the future`, options);
  }
}

/** The store is unavailable: no member responds, there is no leader, or the deadline of the call has passed. */
export class StorageUnavailableError extends Error {
  override readonly name: string = 'StorageUnavailableError';
}

/** etcd does not let the server's user do this: its rights, or the user, were taken away. Nothing was written. */
export class StorageAccessDeniedError extends StorageUnavailableError {
  override readonly name = 'StorageAccessDeniedError';
}

/** The store has another history than before: it was restored, rebuilt or replaced. Nothing was written. */
export class HistoryReplacedError extends StorageUnavailableError {
  override readonly name = 'HistoryReplacedError';
  constructor(options?: ErrorOptions) {
    super('etcd has another history than before: its data were restored or replaced', options);
  }
}

/** A write may have been applied, now or later. It must not be repeated blindly. */
export class WriteInDoubtError extends StorageUnavailableError {
  override readonly name = 'WriteInDoubtError';
  constructor(key: string, options?: ErrorOptions) {
    super(`it is unknown whether ${key} was written`, options);
  }
}

/** The store is out of space (etcd's NOSPACE alarm). Reads and deletions still work. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/** A value is larger than the store accepts. */
export class ValueTooLargeError extends Error {
  override readonly name = 'ValueTooLargeError';
}

/** A stored value cannot be decrypted: it is corrupt, or its key is unavailable. */
export class CorruptValueError extends Error {
  override readonly name = 'CorruptValueError';
  readonly keys: readonly string[];
  /** False if it may become readable again, such as when the KMS plugin is back. */
  readonly isPermanent: boolean;
  constructor(keys: readonly string[], options?: ErrorOptions) {
    super(`cannot read what is stored under ${keys.slice(0, 100).join(', ')}`, options);
    this.keys = keys;
    const cause = options?.cause;
    this.isPermanent = cause instanceof CorruptValueError ? cause.isPermanent : !(cause instanceof KeyUnavailableError);
  }
}

/** The KMS plugin does not provide the key of a value at present. The value itself may be intact. */
export class KeyUnavailableError extends StorageUnavailableError {
  override readonly name: string = 'KeyUnavailableError';
}

/** The key of a value is unavailable, so none of the objects of its collection is served until it is back. */
export class CollectionSuspendedError extends KeyUnavailableError {
  override readonly name = 'CollectionSuspendedError';
  constructor(prefix: string, unreadable: CorruptValueError) {
    super(
      `the objects below ${prefix} cannot be read at present: the KMS plugin does not provide the key of ${unreadable.keys.join(', ')}`,
      { cause: unreadable },
    );
  }
}

/** The collection was detached: its objects are no longer served. */
export class CollectionDetachedError extends StorageUnavailableError {
  override readonly name = 'CollectionDetachedError';
  constructor(prefix: string) {
    super(`the objects below ${prefix} are no longer served`);
  }
}
