import type { Span } from '@cluster-apiserver/base';
import type { Pieces } from '../pieces.ts';

/**
 * What lies between an object's bytes and the bytes in etcd: nothing (identity) or encryption. The full etcd key comes
 * along as context, so that a value moved to another place can be refused.
 */
export interface Transformer {
  /** Each layer adds its own pieces. `trace` is the span of the write, if it is sampled. */
  toStorage(value: Uint8Array, key: string, trace?: Span): Pieces | Promise<Pieces>;
  /** Throws or rejects when the value is not one that it can read. `trace` is the span of the read, if it is sampled. */
  fromStorage(value: Buffer, key: string, trace?: Span): Transformed | Promise<Transformed>;
}

/** One that waits for nobody. */
export interface SyncTransformer extends Transformer {
  toStorage(value: Uint8Array, key: string): Pieces;
  fromStorage(value: Buffer, key: string): Transformed;
}

export interface Transformed {
  readonly value: Buffer;
  /** True when the value was not written the way it would be written now. */
  readonly stale: boolean;
  /** What the value was made from, where it was written by this process a moment ago. */
  readonly source?: object | undefined;
}

/** Every encrypted value begins with it, and no object does. */
const encryptedPrefix = Buffer.from('k8s:enc:');

/** Shows values as they lie there, for whoever only looks at what encrypts them. */
export const rawTransformer: SyncTransformer = {
  toStorage: () => {
    throw new Error('what is stored was opened for reading only');
  },
  fromStorage: (value) => ({ value, stale: false }),
};

/** Stores values as they are. It gives nobody the bytes of an encrypted one for an object. */
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
