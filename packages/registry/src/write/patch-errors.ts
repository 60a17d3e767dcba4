import type { Task } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { PatchFailedError } from '@cluster-apiserver/model/patch';
import { UnkeyedEntryError } from '@cluster-apiserver/model/schema';

/** Runs a patch. Throws a StatusError for a patch that does not fit the object or exceeds the limits of the engine. */
export function* withPatchErrors<T>(change: Task<T>): Task<T> {
  try {
    return yield* change;
  } catch (error) {
    return throwAsClientError(error);
  }
}

function throwAsClientError(cause: unknown): never {
  if (cause instanceof PatchFailedError || cause instanceof UnkeyedEntryError)
    throw new StatusError('Invalid', `the patch cannot be carried out: ${cause.message}`, {}, { cause });
  // The stack or the longest string: only a client that means harm nests or doubles values that often.
  if (cause instanceof RangeError)
    throw new StatusError(
      'Invalid',
      'the patch leads to an object that is nested too deeply or too large',
      {},
      { cause },
    );
  throw cause;
}
