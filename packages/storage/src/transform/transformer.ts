/**
 * What lies between an object's bytes and the bytes in etcd: nothing (identity) or encryption. The full etcd key comes
 * along as context, so that a value moved to another place can be refused.
 */
export interface Transformer {
  toStorage(value: Uint8Array, key: string): Uint8Array | Promise<Uint8Array>;
  fromStorage(value: Buffer, key: string): Transformed | Promise<Transformed>;
}

export interface Transformed {
  readonly value: Buffer;
  /** True when the value was not written the way it would be written now. */
  readonly stale: boolean;
}

export const identity: Transformer = {
  toStorage: (value) => value,
  fromStorage: (value) => ({ value, stale: false }),
};
