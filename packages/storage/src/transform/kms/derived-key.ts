import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Random } from '@cluster-apiserver/base';
import { aesGcm } from '../aes-gcm.ts';
import type { ReadyTransformer } from '../transformer.ts';

const infoBytes = 32;
const seedBytesMin = 32;
/** A key is used once, so no nonce of it can come twice. */
const drewNonce = (): void => {};

/**
 * `info ‖ AES-GCM` with a key of its own for each value, derived from a seed and 32 random bytes (HKDF with SHA-256,
 * its expansion alone): a seed can be used for ever, where a key of AES-GCM wears out.
 */
export function derivedKeyGcm(seed: KeyObject, random: Random): ReadyTransformer {
  if ((seed.symmetricKeySize ?? 0) < seedBytesMin) throw new RangeError(`a seed has at least ${seedBytesMin} bytes`);
  const transformerFor = (info: Buffer): ReadyTransformer =>
    aesGcm({ key: createSecretKey(derived(seed, info)), random, drewNonce });
  return {
    toStorage: (value, key) => {
      const info = random.bytes(infoBytes);
      return Buffer.concat([info, transformerFor(info).toStorage(value, key)]);
    },
    fromStorage: (value, key) => {
      if (value.length < infoBytes) throw new Error('the value is too short for one with a derived key');
      return transformerFor(value.subarray(0, infoBytes)).fromStorage(value.subarray(infoBytes), key);
    },
  };
}

/** The first block of the expansion is as long as a key. */
const firstBlock = Buffer.from([1]);
const derived = (seed: KeyObject, info: Buffer): Buffer =>
  createHmac('sha256', seed).update(info).update(firstBlock).digest();
