import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { Random } from '@cluster-apiserver/base';
import type { SyncTransformer } from './transformer.ts';

const nonceBytes = 12;
const tagBytes = 16;

export interface AesGcmOptions {
  /** Of 16, 24 or 32 bytes. */
  readonly key: KeyObject;
  readonly random: Random;
  /** Called for each random nonce, whose number per key is limited: see nonce-budget.ts. */
  readonly onNonce: () => void;
}

/** `nonce ‖ ciphertext ‖ tag`, with the etcd key as associated data: a changed or moved value is refused. */
export function aesGcm({ key, random, onNonce }: AesGcmOptions): SyncTransformer {
  const algorithm = algorithmFor(key);
  return {
    toStorage: (value, etcdKey) => {
      const nonce = random.bytes(nonceBytes);
      onNonce();
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(etcdKey));
      const ciphertext = cipher.update(value);
      cipher.final(); // returns no bytes, and computes the tag
      return [nonce, ciphertext, cipher.getAuthTag()];
    },
    fromStorage: (value, etcdKey) => {
      if (value.length < nonceBytes + tagBytes) throw new Error('the value is too short for AES-GCM');
      // Without a required length a shorter tag would be accepted, which is easier to guess.
      const decipher = createDecipheriv(algorithm, key, value.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(etcdKey))
        .setAuthTag(value.subarray(-tagBytes));
      const plain = decipher.update(value.subarray(nonceBytes, -tagBytes));
      decipher.final(); // throws unless the value is authentic
      return { value: plain, stale: false };
    },
  };
}

type Algorithm = 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm';

const algorithms: ReadonlyMap<number, Algorithm> = new Map([
  [16, 'aes-128-gcm'],
  [24, 'aes-192-gcm'],
  [32, 'aes-256-gcm'],
]);

function algorithmFor({ symmetricKeySize = 0 }: KeyObject): Algorithm {
  const algorithm = algorithms.get(symmetricKeySize);
  if (!algorithm) throw new RangeError(`AES takes keys of 16, 24 or 32 bytes, and this one has ${symmetricKeySize}`);
  return algorithm;
}
