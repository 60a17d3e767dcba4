import type { Random } from '@cluster-apiserver/base';
import type { SyncTransformer } from './transformer.ts';

const nonceBytes = 24;
const tagBytes = 16;
const keyBytes = 32;

/**
 * `nonce ‖ tag ‖ ciphertext` of XSalsa20 and Poly1305. The number of random nonces is not limited. It does not authenticate
 * the etcd key: a moved value is detected by the name in the object.
 */
export async function secretbox({
  key,
  random,
}: {
  readonly key: Uint8Array;
  readonly random: Random;
}): Promise<SyncTransformer> {
  if (key.length !== keyBytes)
    throw new RangeError(`secretbox takes keys of ${keyBytes} bytes, and this one has ${key.length}`);
  // Imported only if it is configured: its code needs as much memory as thousands of objects.
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return {
    toStorage: (value) => {
      const nonce = random.bytes(nonceBytes);
      return [nonce, sodium.crypto_secretbox_easy(value, nonce, key)];
    },
    fromStorage: (value) => {
      if (value.length < nonceBytes + tagBytes) throw new Error('the value is too short for secretbox');
      const plain = sodium.crypto_secretbox_open_easy(value.subarray(nonceBytes), value.subarray(0, nonceBytes), key);
      return { value: Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength), stale: false };
    },
  };
}
