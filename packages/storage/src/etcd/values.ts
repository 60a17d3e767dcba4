/** Between what etcd keeps and what the door gives: every value passes through the transformer, with its key. */
import { CorruptValueError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Stored } from '../store.ts';
import type { Transformed, Transformer } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** A list of many unreadable values names this many of them: enough to see what they have in common. */
const corruptKeysMax = 100;

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

/** Reads values one after the other and goes on behind those that cannot be read, to name them all in the end. */
export interface Gathering {
  /** Values asked to be read so far, the unreadable ones among them. */
  readonly count: number;
  add(keyValues: readonly KeyValue[]): Promise<void>;
  /** Throws CorruptValueError when one could not be read. */
  finish(): readonly Stored[];
}

export function gatherValues(transformer: Transformer): Gathering {
  const stored: Stored[] = [];
  const corrupt: string[] = [];
  let firstCause: unknown;
  let count = 0;
  return {
    get count() {
      return count;
    },
    add: async (keyValues) => {
      count += keyValues.length;
      for (const keyValue of keyValues) {
        try {
          const value = readValue(transformer, keyValue);
          stored.push(value instanceof Promise ? await value : value);
        } catch (cause) {
          firstCause ??= cause;
          if (corrupt.length < corruptKeysMax) corrupt.push(keyValue.key);
        }
      }
    },
    finish: () => {
      if (corrupt.length > 0) throw new CorruptValueError(corrupt, { cause: firstCause });
      return stored;
    },
  };
}
