import { fieldErrorsMax, type StatusCause, StatusError } from '@cluster-apiserver/model';
import {
  CorruptValueError,
  KeyUnavailableError,
  type Revision,
  RevisionCompactedError,
  RevisionTooLargeError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
  WriteInDoubtError,
} from '@cluster-apiserver/storage';

/** As in kube-apiserver, lists and watches have another reason for unreadable objects. */
export type ReadScope = 'object' | 'collection';

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
  if (error instanceof RevisionCompactedError)
    return new StatusError('Expired', 'The resourceVersion for the provided list is too old.', undefined, options);
  if (error instanceof RevisionTooLargeError) return tooLargeResourceVersion(error.message, options);
  if (error instanceof CorruptValueError && !error.isPermanent)
    return new StatusError('ServiceUnavailable', `${error.message} at present`, { retryAfterSeconds: 1 }, options);
  if (error instanceof CorruptValueError)
    return scope === 'collection'
      ? new StatusError(
          'StorageReadError',
          error.message,
          { causes: error.keys.slice(0, fieldErrorsMax).map(unreadableCause) },
          options,
        )
      : new StatusError('InternalError', error.message, undefined, options);
  return error;
}

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

/** The error of a watch from a revision that is no longer kept. The oldest revision to watch from is in parentheses. */
export function expiredWatch(from: Revision, cause?: RevisionCompactedError): StatusError {
  const oldest = cause?.oldestRevision;
  const message =
    oldest === undefined
      ? 'The resourceVersion for the provided watch is too old.'
      : `too old resource version: ${from} (${oldest - 1})`;
  return new StatusError('Expired', message, undefined, { cause });
}

/** Runs a verb, and converts errors of the storage to StatusErrors. */
export async function withStatusErrors<T>(verb: () => Promise<T>, scope?: ReadScope): Promise<T> {
  try {
    return await verb();
  } catch (error) {
    throw toStatusError(error, scope);
  }
}
