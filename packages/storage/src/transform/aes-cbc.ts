import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { Random } from '@cluster-apiserver/base';
import type { SyncTransformer } from './transformer.ts';

const blockBytes = 16;
const keyBytes = 32;
const algorithm = 'aes-256-cbc';

/**
 * `iv ‖ ciphertext`, padded as PKCS #7. It hides values and does not protect them: who can write to etcd can change
 * bits of an object, or move one, and whoever sees which changes we refuse can read it bit by bit. It is here for data
 * that was written with it.
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
        throw new Error('the value has not the length of one in AES-CBC');
      const decipher = createDecipheriv(algorithm, key, value.subarray(0, blockBytes));
      return { value: Buffer.concat([decipher.update(value.subarray(blockBytes)), decipher.final()]), stale: false };
    },
  };
}
