import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import type { Random } from '@cluster-apiserver/base';
import { aesCbc } from '../aes-cbc.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { SyncTransformer, Transformed } from '../transformer.ts';
import { type KmsPlugin, type KmsPluginOptions, PluginMonitor } from './plugin-monitor.ts';
import type { KmsV1Service } from './service.ts';
import { KeyCache } from './key-cache.ts';

const keyBytes = 32;
const lengthBytes = 2;

/**
 * `length ‖ encrypted key ‖ value`: each value has its own key, which the plugin encrypts. So every write calls the plugin,
 * and so does every read of a value whose key is not in the cache.
 */
export function kmsV1(
  service: KmsV1Service,
  { cacheSize, ...options }: KmsPluginOptions & { readonly cacheSize: number },
): KmsPlugin {
  const { random } = options;
  const keys = new KeyCache<SyncTransformer>(Math.max(0, cacheSize), options.measures);
  const transformerOf = (plain: Buffer): SyncTransformer => gcmWithCbcFallback(createSecretKey(plain), random);
  const monitor = new PluginMonitor(async () => {
    const probe = random.bytes(keyBytes);
    if (!(await service.decrypt(await service.encrypt(probe))).equals(probe))
      throw new Error('the plugin does not decrypt what it encrypted');
  }, options);
  return {
    transformer: {
      toStorage: async (value, etcdKey, trace) => {
        const plain = random.bytes(keyBytes);
        const encrypted = await monitor.track(service.encrypt(plain, trace));
        if (encrypted.length === 0 || encrypted.length >= 2 ** (8 * lengthBytes))
          throw new Error(`the plugin made ${encrypted.length} bytes of a key`);
        const transformer = transformerOf(plain);
        keys.set(cacheKeyOf(encrypted), transformer);
        const length = Buffer.alloc(lengthBytes);
        length.writeUInt16BE(encrypted.length);
        return [length, encrypted, ...transformer.toStorage(value, etcdKey)];
      },
      fromStorage: (value, etcdKey, trace) => {
        if (value.length < lengthBytes) throw new Error('the envelope is too short');
        const end = lengthBytes + value.readUInt16BE();
        if (end === lengthBytes || value.length < end) throw new Error('the envelope has no key, or not all of it');
        const encrypted = value.subarray(lengthBytes, end);
        const name = cacheKeyOf(encrypted);
        const read = (transformer: SyncTransformer): Transformed => {
          const opened = transformer.fromStorage(value.subarray(end), etcdKey);
          keys.confirm(name, transformer);
          return opened;
        };
        const found = keys.get(name, async () => transformerOf(await monitor.track(service.decrypt(encrypted, trace))));
        if (!(found instanceof Promise)) return read(found);
        return found.then((transformer) => {
          try {
            return read(transformer);
          } catch (error) {
            monitor.noteFailure();
            throw error;
          }
        });
      },
    },
    check: () => monitor.check(),
    firstCheck: monitor.firstCheck,
    close: () => {
      monitor.close();
      service.close();
    },
  };
}

/** Servers before 1.25 wrote AES-CBC, which is read and reported as stale. */
function gcmWithCbcFallback(key: KeyObject, random: Random): SyncTransformer {
  const gcm = aesGcm({ key, random, onNonce: () => {} }); // a key is used once
  const cbc = aesCbc({ key, random });
  return {
    toStorage: gcm.toStorage,
    fromStorage: (value, etcdKey): Transformed => {
      try {
        return gcm.fromStorage(value, etcdKey);
      } catch (refusal) {
        const older = readOrUndefined(() => cbc.fromStorage(value, etcdKey).value);
        if (!older || !objectPrefixes.some((one) => older.subarray(0, one.length).equals(one))) throw refusal;
        return { value: older, stale: true };
      }
    },
  };
}

/**
 * For one in 256 corrupt GCM values the CBC padding is valid by chance. So a CBC value must begin like a stored object.
 */
const objectPrefixes = ['{"kind":', '{"apiVersion":', 'k8s\0'].map((text) => Buffer.from(text));

function readOrUndefined(read: () => Buffer): Buffer | undefined {
  try {
    return read();
  } catch {
    return undefined; // the caller throws the error of GCM
  }
}

const cacheKeyOf = (encrypted: Buffer): string => createHash('sha256').update(encrypted).digest('base64');
