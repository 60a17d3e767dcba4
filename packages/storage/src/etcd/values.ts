/** Decrypts the values of etcd with the transformer. */
import {
  awaitWithin,
  callUntil,
  type Clock,
  DeadlineExceededError,
  requireValue,
  type Span,
} from '@cluster-apiserver/base';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Entry } from '../store.ts';
import type { StoredValue } from '../stored-value.ts';
import type { Transformed, Transformer } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** Most transformers return synchronously, and then the result is no promise. */
export function readValue(
  transformer: Transformer,
  keyValue: KeyValue,
  trace?: Span,
): StoredValue | Promise<StoredValue> {
  const { key, modRevision } = keyValue;
  const stored = ({ value, stale, source }: Transformed): StoredValue => ({
    key,
    value,
    revision: revision(modRevision),
    stale,
    source,
  });
  const corrupt = (cause: unknown): never => {
    throw new CorruptValueError([key], { cause });
  };
  try {
    const transformed = transformer.fromStorage(keyValue.value, key, trace);
    return transformed instanceof Promise ? transformed.then(stored, corrupt) : stored(transformed);
  } catch (cause) {
    return corrupt(cause);
  }
}

/** A value whose encryption key has been requested. */
export class PendingEntry {
  readonly key: string;
  readonly revision: Revision;
  /** The entry once `awaitKeys` has waited for it. */
  entry: Entry | undefined;
  readonly reading: Promise<Entry>;

  constructor(key: string, at: Revision, reading: Promise<Entry>) {
    this.key = key;
    this.revision = at;
    this.reading = reading;
  }
}

/** Reads one of many values, of which some may be unreadable. */
export function readEntry(transformer: Transformer, keyValue: KeyValue): Entry | PendingEntry {
  const { key } = keyValue;
  const at = revision(keyValue.modRevision);
  const failed = (error: unknown): Entry => {
    if (!(error instanceof CorruptValueError)) throw error;
    return { key, revision: at, unreadable: error };
  };
  try {
    const value = readValue(transformer, keyValue);
    return value instanceof Promise ? new PendingEntry(key, at, value.catch(failed)) : value;
  } catch (error) {
    return failed(error);
  }
}

export const entryOf = (read: Entry | PendingEntry): Entry =>
  read instanceof PendingEntry ? requireValue(read.entry, 'its key was awaited') : read;

/**
 * Waits for the keys of values, which arrive about in the order in which they were requested. If none arrives for
 * `timeoutMs`, the values that still wait are unreadable at present.
 */
export async function awaitKeys(clock: Clock, pending: readonly PendingEntry[], timeoutMs: number): Promise<void> {
  let isLate = false;
  for (const one of pending) {
    const { key, revision: at, reading } = one;
    const entry: Entry | undefined = await (isLate
      ? Promise.race([reading, Promise.resolve(undefined)])
      : readWithin(clock, reading, timeoutMs));
    isLate ||= !entry;
    const cause = new KeyUnavailableError('the KMS plugin did not provide the key in time');
    one.entry = entry ?? { key, revision: at, unreadable: new CorruptValueError([key], { cause }) };
  }
}

/** Undefined after the timeout. */
async function readWithin(clock: Clock, reading: Promise<Entry>, timeoutMs: number): Promise<Entry | undefined> {
  try {
    return await awaitWithin(clock, callUntil(clock.monotonicMs() + timeoutMs), reading);
  } catch (error) {
    if (error instanceof DeadlineExceededError) return undefined;
    throw error;
  }
}
