import { awaitWithin, type Call, type Clock, DeadlineExceededError } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../errors.ts';

/** Waits for a transformer until the call's deadline, or until its caller disconnects. */
export function awaitBeforeDeadline<T>(result: T | Promise<T>, call: Call, clock: Clock): T | Promise<T> {
  if (!(result instanceof Promise)) return result;
  return awaitWithin(clock, call, result).catch((error: unknown) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    throw new KeyUnavailableError('the KMS plugin did not provide the key in time', { cause: error });
  });
}
