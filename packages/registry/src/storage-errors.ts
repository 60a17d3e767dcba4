import { fieldErrorsMax, type StatusCause, StatusError } from '@cluster-apiserver/model';
import { type Continuation, encodeContinue } from './read/continue-token.ts';
import {
  CollectionDetachedError,
  CollectionSuspendedError,
  CorruptValueError,
  KeyUnavailableError,
  type Revision,
  RevisionCompactedError,
  RevisionReplacedError,
  RevisionTooLargeError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
  WriteInDoubtError,
} from '@cluster-apiserver/storage';

/** What was read, where kube-apiserver words its errors differently. */
export type ReadScope =
  | 'object'
  | 'collection'
  /** The rest of a list. */
  | { readonly after: Continuation }
  /** The changes after a revision. */
  | { readonly since: Revision };

/** Converts an error of the storage to a StatusError for the client; returns any other error as it is. */
export function toStatusError(error: unknown, scope: ReadScope = 'object'): unknown {
  const options = { cause: error };
  // Without Retry-After: clients would repeat the write, which may have been applied.
  if (error instanceof WriteInDoubtError)
    return new StatusError(
      'Timeout',
      'the storage did not confirm the write in time; read the object before you try again',
      undefined,
      options,
    );
  if (error instanceof CollectionSuspendedError)
    return new StatusError(
      'ServiceUnavailable',
      `${error.message}; please try again`,
      { retryAfterSeconds: 1 },
      options,
    );
  if (error instanceof KeyUnavailableError)
    return new StatusError(
      'ServiceUnavailable',
      'the KMS plugin that encrypts stored objects is unavailable; please try again',
      { retryAfterSeconds: 1 },
      options,
    );
  if (error instanceof StorageUnavailableError)
    return new StatusError(
      'ServiceUnavailable',
      'the storage is unavailable; please try again',
      { retryAfterSeconds: 1 },
      options,
    );
  if (error instanceof StorageFullError)
    return new StatusError(
      'ServiceUnavailable',
      'the storage is full: only reads and deletions work until its operator has freed space',
      { retryAfterSeconds: 10 },
      options,
    );
  if (error instanceof ValueTooLargeError)
    return new StatusError(
      'RequestEntityTooLarge',
      'the object exceeds the size limit of the storage',
      undefined,
      options,
    );
  if (error instanceof RevisionCompactedError) return expired(error, scope);
  if (error instanceof RevisionTooLargeError) return tooLargeResourceVersion(error.message, options);
  if (error instanceof CorruptValueError && !error.isPermanent)
    return new StatusError('ServiceUnavailable', `${error.message} at present`, { retryAfterSeconds: 1 }, options);
  if (error instanceof CorruptValueError)
    return scope !== 'object'
      ? new StatusError(
          'StorageReadError',
          error.message,
          { causes: error.keys.slice(0, fieldErrorsMax).map(unreadableCause) },
          options,
        )
      : new StatusError('InternalError', error.message, undefined, options);
  return error;
}

/** Whether it failed because its kind is no longer served, or is replaced by another one. */
export const isDetached = (error: unknown): boolean =>
  error instanceof CollectionDetachedError ||
  (error instanceof Error && error.cause !== undefined && isDetached(error.cause));

/** Whether the storage was unavailable, as its own lines in the log say. */
export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof AggregateError
    ? error.errors.every(isStorageUnavailable)
    : error instanceof StorageUnavailableError ||
      (error instanceof StatusError && error.cause instanceof StorageUnavailableError);

/** Whether it failed because a stored value cannot be decrypted or decoded. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof StatusError && error.cause instanceof CorruptValueError;

const unreadableCause = (key: string): StatusCause => ({
  reason: 'UnexpectedServerResponse',
  message: 'the stored value cannot be decrypted or decoded',
  field: key,
});

export const tooLargeResourceVersion = (message: string, options?: ErrorOptions): StatusError =>
  new StatusError(
    'Timeout',
    message,
    { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
    options,
  );

/** Clients list again. A list can also be continued, with the token of the error and the present state. */
function expired(cause: RevisionCompactedError, scope: ReadScope): StatusError {
  if (typeof scope === 'object' && 'after' in scope)
    return new StatusError(
      'Expired',
      expiredTokenMessage,
      { causes: [{ reason: 'ResourceExpired', message: 'the state at which the list began is no longer kept' }] },
      { cause, continue: encodeContinue({ after: scope.after.after, revision: undefined }) },
    );
  return new StatusError('Expired', expiredMessage(cause, scope), undefined, { cause });
}

const expiredTokenMessage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

function expiredMessage(cause: RevisionCompactedError, scope: ReadScope): string {
  // A replay of changes begins at the oldest of several watches.
  const since = typeof scope === 'object' && 'since' in scope ? scope.since : undefined;
  const { oldestRevision, asked } = cause;
  // In another history, the versions that clients know may mean something else.
  if (cause instanceof RevisionReplacedError)
    return `too old resource version: ${since ?? asked}: the storage was restored or replaced`;
  if (since === undefined) return 'The resourceVersion for the provided list is too old.';
  if (oldestRevision === undefined) return 'The resourceVersion for the provided watch is too old.';
  // In parentheses, the oldest version to watch from.
  return `too old resource version: ${since} (${oldestRevision - 1})`;
}

/** Runs a verb, and converts errors of the storage to StatusErrors. */
export const withStatusErrors = <T>(verb: () => Promise<T>, scope?: ReadScope): Promise<T> =>
  verb().catch((error: unknown) => {
    throw toStatusError(error, scope);
  });
