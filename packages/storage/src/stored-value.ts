import type { Revision } from './revision.ts';

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  /** When the key was last written. */
  readonly revision: Revision;
  /** Whether the value should be rewritten although the object is unchanged, such as after a key rotation. */
  readonly stale: boolean;
  /** The `source` of the write; only in a watch, for values that this store has written itself. */
  readonly source?: object | undefined;
}
