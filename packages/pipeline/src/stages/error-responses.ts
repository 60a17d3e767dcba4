import { DeadlineExceededError } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { toStatusError as storageErrorStatus } from '@cluster-apiserver/registry';
import { BodyMemoryError, BodyTooLargeError, BodyTooSlowError, ClientGoneError } from '../exchange.ts';
import { timeoutError } from './deadline.ts';

/** Whether the error was not meant as a response. */
export const isInternal = (error: unknown): boolean => knownStatus(error) === undefined;

/** The Status for a client. It reveals nothing of an internal error. */
export const toStatusError = (error: unknown): StatusError =>
  knownStatus(error) ?? new StatusError('InternalError', 'Internal error occurred', undefined, { cause: error });

function knownStatus(error: unknown): StatusError | undefined {
  if (error instanceof DeadlineExceededError) return timeoutError(error);
  if (error instanceof ClientGoneError) return clientGone;
  if (error instanceof BodyTooLargeError)
    return new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
      cause: error,
    });
  if (error instanceof BodyTooSlowError)
    return new StatusError('RequestTimeout', 'the body of the request did not arrive in time', undefined, {
      cause: error,
    });
  if (error instanceof BodyMemoryError)
    return new StatusError(
      'TooManyRequests',
      'too many request bodies are being received, please try again later',
      { retryAfterSeconds: 1 },
      { cause: error },
    );
  // Stages read stored objects, too, such as the account of a token.
  const status = storageErrorStatus(error);
  return status instanceof StatusError ? status : undefined;
}

/**
 * Only a client that half-closed its connection reads this. A single instance, because a client may leave with a
 * hundred open requests and each stack trace would have to be built.
 */
const clientGone = new StatusError(
  'Timeout',
  'the client closed its side of the connection before the response was ready',
  {},
);
