import { inSpan } from '@cluster-apiserver/base';
import { type Call, type Collection, type Revision, RevisionTooLargeError } from '@cluster-apiserver/storage';
import { tooLargeResourceVersion } from '../storage-errors.ts';
import type { CachedObject } from '../stored-object.ts';

/** Waits until the memory is as fresh as a client demands; undefined when it already is. */
export function waitUntilFresh(
  collection: Collection<CachedObject>,
  wanted: Revision | 'any' | undefined,
  call: Call,
): Promise<void> | undefined {
  // What needs no fresh state waits for hardly anything.
  const isTraced = call.trace !== undefined && wanted !== 'any';
  const reaching = isTraced
    ? inSpan(call, 'read barrier', (traced) => collection.waitUntilFresh(wanted, traced))
    : collection.waitUntilFresh(wanted, call);
  if (!reaching) return undefined;
  const { latency } = call;
  latency?.begin('storage');
  const ended = (): void => latency?.end('storage');
  return reaching.then(ended, (error: unknown) => {
    ended();
    if (!(error instanceof RevisionTooLargeError)) throw error;
    // Beyond that, a revision is a rounded number, which the client has not sent.
    const shown = Number.isSafeInteger(wanted) ? wanted : `more than ${Number.MAX_SAFE_INTEGER}`;
    throw tooLargeResourceVersion(`Too large resource version: ${shown}, current: ${collection.currentRevision}`, {
      cause: error,
    });
  });
}
