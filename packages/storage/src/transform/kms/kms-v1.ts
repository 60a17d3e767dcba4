import { createHash, createSecretKey } from 'node:crypto';
import { aesCbc } from '../aes-cbc.ts';
import { aesGcm } from '../aes-gcm.ts';
import { prefixed } from '../prefixed.ts';
import type { Transformer } from '../transformer.ts';
import type { KmsPlugin, KmsPluginOptions } from './kms-v2.ts';
import type { KmsV1Service } from './service.ts';
import { SharedKeys } from './shared-keys.ts';

const keyBytes = 32;
const lengthBytes = 2;

/**
 * `length ‖ encrypted key ‖ value`: each value has a key of its own, and the plugin encrypts each of them. So every
 * write waits for it, and so does a read of a value whose key is not in the cache.
 */
export function kmsV1(
  service: KmsV1Service,
  { random, cacheSize }: Pick<KmsPluginOptions, 'random'> & { readonly cacheSize: number },
): KmsPlugin {
  const keys = new SharedKeys<Transformer>(Math.max(0, cacheSize));
  const transformerOf = (plain: Buffer): Transformer => {
    const key = createSecretKey(plain);
    // Values of older servers are in CBC, and to be written anew.
    return prefixed([
      { prefix: '', transformer: aesGcm({ key, random, drewNonce: () => {} }) },
      { prefix: '', transformer: aesCbc({ key, random }) },
    ]);
  };
  return {
    transformer: {
      toStorage: async (value, etcdKey) => {
        const plain = random.bytes(keyBytes);
        const encrypted = await service.encrypt(plain);
        if (encrypted.length === 0 || encrypted.length >= 2 ** (8 * lengthBytes))
          throw new Error(`the plugin made ${encrypted.length} bytes of a key`);
        const transformer = transformerOf(plain);
        keys.set(nameOf(encrypted), transformer);
        const length = Buffer.alloc(lengthBytes);
        length.writeUInt16BE(encrypted.length);
        return Buffer.concat([length, encrypted, await transformer.toStorage(value, etcdKey)]);
      },
      fromStorage: async (value, etcdKey) => {
        if (value.length < lengthBytes) throw new Error('the envelope is too short');
        const end = lengthBytes + value.readUInt16BE();
        if (end === lengthBytes || value.length < end) throw new Error('the envelope has no key, or not all of it');
        const encrypted = value.subarray(lengthBytes, end);
        const ask = async (): Promise<Transformer> => transformerOf(await service.decrypt(encrypted));
        const transformer = await keys.get(nameOf(encrypted), ask);
        return transformer.fromStorage(value.subarray(end), etcdKey);
      },
    },
    check: async () => {
      const probe = random.bytes(keyBytes);
      if (!(await service.decrypt(await service.encrypt(probe))).equals(probe))
        throw new Error('the plugin does not decrypt what it encrypted');
    },
    asked: Promise.resolve(),
    close: () => service.close(),
  };
}

const nameOf = (encrypted: Buffer): string => createHash('sha256').update(encrypted).digest('base64');
