import type { Span } from '@cluster-apiserver/base';
import type { Pieces } from '../pieces.ts';

/**
 * Transforms the bytes of an object to the bytes in etcd: identity or encryption. The etcd key is authenticated too, so that
 * a value that was moved to another key is refused.
 */
export interface Transformer {
  /** `trace` is the span of the write, if it is sampled. */
  readonly toStorage: (value: Uint8Array, key: string, trace?: Span) => Pieces | Promise<Pieces>;
  /** Throws or rejects if it cannot read the value. `trace` is the span of the read, if it is sampled. */
  readonly fromStorage: (value: Buffer, key: string, trace?: Span) => Transformed | Promise<Transformed>;
}

/** A transformer that never waits. */
export interface SyncTransformer extends Transformer {
  readonly toStorage: (value: Uint8Array, key: string) => Pieces;
  readonly fromStorage: (value: Buffer, key: string) => Transformed;
}

export interface Transformed {
  readonly value: Buffer;
  /** Whether a write would store the value in another way now. */
  readonly stale: boolean;
  /** What the value was encoded from, if this process has just written it. */
  readonly source?: object | undefined;
}

/** The prefix of every encrypted value, and of no object. */
const encryptedPrefix = Buffer.from('k8s:enc:');

/** Returns values as they are stored, for the command that shows how they are encrypted. */
export const rawTransformer: SyncTransformer = {
  toStorage: () => {
    throw new Error('what is stored was opened for reading only');
  },
  fromStorage: (value) => ({ value, stale: false }),
};

/** Stores values as they are. It refuses to read encrypted ones. */
export const identity: SyncTransformer = {
  toStorage: (value) => [value],
  fromStorage: (value) => {
    if (value.subarray(0, encryptedPrefix.length).equals(encryptedPrefix)) throw new StillEncryptedError();
    return { value, stale: false };
  },
};

export class StillEncryptedError extends Error {
  override readonly name = 'StillEncryptedError';
  constructor() {
    super('the value is encrypted, and what is configured reads plain values only');
  }
}
