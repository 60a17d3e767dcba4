/** Between what etcd keeps and what the door gives: every value passes through the transformer, with its key. */
import { CorruptValueError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Entry, Stored, Unreadable } from '../store.ts';
import type { Transformed, Transformer } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** Most transformers answer at once, and then nothing is waited for. */
export function readValue(transformer: Transformer, keyValue: KeyValue): Stored | Promise<Stored> {
  const { key, modRevision } = keyValue;
  const stored = ({ value, stale }: Transformed): Stored => ({ key, value, revision: revision(modRevision), stale });
  const corrupt = (cause: unknown): never => {
    throw new CorruptValueError([key], { cause });
  };
  try {
    const transformed = transformer.fromStorage(keyValue.value, key);
    return transformed instanceof Promise ? transformed.then(stored, corrupt) : stored(transformed);
  } catch (cause) {
    return corrupt(cause);
  }
}

/** For readers of many values, who go on behind one that cannot be read. */
export function readEntry(transformer: Transformer, keyValue: KeyValue): Entry | Promise<Entry> {
  const failed = (error: unknown): Unreadable => {
    if (!(error instanceof CorruptValueError)) throw error;
    return { key: keyValue.key, revision: revision(keyValue.modRevision), unreadable: error };
  };
  try {
    const value = readValue(transformer, keyValue);
    return value instanceof Promise ? value.catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}
