import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { Random } from '@cluster-apiserver/base';
import type { SyncTransformer } from './transformer.ts';

const blockBytes = 16;
const keyBytes = 32;
const algorithm = 'aes-256-cbc';

/**
 * `iv ‖ ciphertext` with PKCS #7 padding, for data that was written with it. It does not authenticate: with write access to
 * etcd one can change or move objects, and decrypt them with a padding oracle.
 */
export function aesCbc({ key, random }: { readonly key: KeyObject; readonly random: Random }): SyncTransformer {
  if (key.symmetricKeySize !== keyBytes)
    throw new RangeError(`AES-CBC takes keys of ${keyBytes} bytes, and this one has ${key.symmetricKeySize}`);
  return {
    toStorage: (value) => {
      const iv = random.bytes(blockBytes);
      const cipher = createCipheriv(algorithm, key, iv);
      return [iv, cipher.update(value), cipher.final()];
    },
    fromStorage: (value) => {
      if (value.length < 2 * blockBytes || value.length % blockBytes !== 0)
        throw new Error('the value has no valid length for AES-CBC');
      const decipher = createDecipheriv(algorithm, key, value.subarray(0, blockBytes));
      return { value: Buffer.concat([decipher.update(value.subarray(blockBytes)), decipher.final()]), stale: false };
    },
  };
}
