import type { Transformed } from '../transform/transformer.ts';

/**
 * What is being written just now, as it is stored and as it is read. Most writes come back by the watch before they are
 * answered, and need not be decrypted then. The bytes decide, so it does not matter what becomes of a write, nor who
 * else writes the same key.
 */
export class UnderWay {
  readonly #byKey = new Map<string, { readonly stored: Uint8Array; readonly transformed: Transformed }>();

  async during<T>(key: string, value: Buffer, stored: Uint8Array, write: () => Promise<T>): Promise<T> {
    const writing = { stored, transformed: { value, stale: false } };
    this.#byKey.set(key, writing);
    try {
      return await write();
    } finally {
      // Another write of the same key may have begun after this one.
      if (this.#byKey.get(key) === writing) this.#byKey.delete(key);
    }
  }

  find(key: string, stored: Buffer): Transformed | undefined {
    const found = this.#byKey.get(key);
    return found && stored.equals(found.stored) ? found.transformed : undefined;
  }
}
