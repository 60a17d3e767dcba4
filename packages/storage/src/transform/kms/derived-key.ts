import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { BoundedCache, type Random } from '@cluster-apiserver/base';
import { aesGcm } from '../aes-gcm.ts';
import type { SyncTransformer } from '../transformer.ts';

const infoBytes = 32;
const seedBytesMin = 32;
/** Few enough to make equal nonces impossible in practice, many enough to make the derivation cheap. */
const valuesPerKey = 1_000;
const ignoreNonce = (): void => {};
/** Values that were written in sequence share a key, and are often read in sequence. */
const keysKept = 64;

/**
 * `info ‖ AES-GCM` with a key that is derived from a seed and 32 random bytes (the expand step of HKDF with SHA-256). A seed
 * has no limit of use, unlike an AES-GCM key. kube-apiserver derives a key for each value; both are compatible, because a
 * value contains the input of its derivation.
 */
export function derivedKeyGcm(seed: KeyObject, random: Random): SyncTransformer {
  if ((seed.symmetricKeySize ?? 0) < seedBytesMin) throw new RangeError(`a seed has at least ${seedBytesMin} bytes`);
  const kept = new BoundedCache<SyncTransformer>({ entriesMax: keysKept });
  const transformerFor = (info: Buffer): SyncTransformer => {
    const name = info.toString('latin1');
    let transformer = kept.get(name);
    if (!transformer) {
      transformer = aesGcm({ key: createSecretKey(deriveKey(seed, info)), random, onNonce: ignoreNonce });
      kept.set(name, transformer);
    }
    return transformer;
  };
  let writing: { readonly info: Buffer; readonly transformer: SyncTransformer; valuesLeft: number } | undefined;
  const nextKey = (): NonNullable<typeof writing> => {
    const info = random.bytes(infoBytes);
    return { info, transformer: transformerFor(info), valuesLeft: valuesPerKey };
  };
  return {
    toStorage: (value, key) => {
      if (!writing || writing.valuesLeft === 0) writing = nextKey();
      writing.valuesLeft--;
      return [writing.info, ...writing.transformer.toStorage(value, key)];
    },
    fromStorage: (value, key) => {
      if (value.length < infoBytes) throw new Error('the value is too short for one with a derived key');
      return transformerFor(value.subarray(0, infoBytes)).fromStorage(value.subarray(infoBytes), key);
    },
  };
}

/** The first block of HKDF's expansion is as long as a key. */
const firstBlock = Buffer.from([1]);
const deriveKey = (seed: KeyObject, info: Buffer): Buffer =>
  createHmac('sha256', seed).update(info).update(firstBlock).digest();
