import { createHash, createSecretKey } from 'node:crypto';
import type { Span } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Pieces } from '../../pieces.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { SyncTransformer, Transformed } from '../transformer.ts';
import { derivedKeyGcm } from './derived-key.ts';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  createEnvelopeWriter,
  keyIdProblem,
  validateKeyId,
  validateEncryptedKey,
} from './encrypted-object.ts';
import { monitorPlugin, type KmsPlugin, type KmsPluginOptions } from './plugin-monitor.ts';
import type { EncryptedKey, KmsV2Service } from './service.ts';
import { KeyCache } from './key-cache.ts';

/** Writes continue for this long without a successful status check. */
const graceMs = 180_000;
const seedBytes = 32;
/** Each start of a replica and each rotation creates a seed; values keep theirs until they are rewritten. */
const seedsMax = 1_000;

/** The key that encrypts values, and until when. */
interface WriteKey {
  readonly encrypted: EncryptedKey;
  readonly inEnvelope: (data: Pieces) => Pieces;
  readonly transformer: SyncTransformer;
  readonly untilMs: number;
}

/**
 * The plugin encrypts a random seed once, and values get keys derived from it. So writes, and reads of values with a cached
 * seed, need no call. When the plugin reports another key, a new seed is created, and values with the old one are stale.
 */
export function kmsV2(service: KmsV2Service, options: KmsPluginOptions): KmsPlugin {
  const { clock, random, measures } = options;
  const keys = new KeyCache<SyncTransformer>(seedsMax, measures);
  let writeKey: WriteKey | undefined;

  const newWriteKey = async (untilMs: number): Promise<WriteKey> => {
    const seed = random.bytes(seedBytes);
    const encrypted = await service.encrypt(seed, random.uuid());
    validateEncryptedKey(encrypted);
    const transformer = derivedKeyGcm(createSecretKey(seed), random);
    keys.set(cacheKeyOf(encrypted, 'seed'), transformer);
    return { encrypted, inEnvelope: createEnvelopeWriter({ key: encrypted, keyType: 'seed' }), transformer, untilMs };
  };

  const checkStatus = async (): Promise<void> => {
    // Counted from before the request, because the response may be as old.
    const untilMs = clock.monotonicMs() + graceMs;
    const { version, healthz, keyId } = await service.status();
    if (version !== 'v2' && version !== 'v2beta1') throw new Error('the plugin reports another API version than v2');
    if (healthz !== 'ok') throw new Error('the plugin reports that it is unhealthy');
    const problem = keyIdProblem(keyId);
    if (problem) measures.keyIdInvalid(problem);
    validateKeyId(keyId);
    measures.keyIdReported(keyId);
    if (writeKey?.encrypted.keyId === keyId) writeKey = { ...writeKey, untilMs };
    else {
      const next = await newWriteKey(untilMs);
      // If the plugin changes its key in between, the next check retries, and writes go on with the present key.
      if (next.encrypted.keyId !== keyId) throw new Error('the plugin encrypts with another key than it reports');
      writeKey = next;
    }
  };
  const monitor = monitorPlugin(checkStatus, options);

  const keyFor = (
    { key, keyType }: EncryptedObject,
    trace: Span | undefined,
  ): SyncTransformer | Promise<SyncTransformer> =>
    keys.get(cacheKeyOf(key, keyType), async () => {
      const plain = createSecretKey(await monitor.track(service.decrypt(key, random.uuid(), trace)));
      return keyType === 'seed' ? derivedKeyGcm(plain, random) : aesGcm({ key: plain, random, onNonce: () => {} });
    });

  return {
    transformer: {
      toStorage: (value, etcdKey) => {
        if (!writeKey || writeKey.untilMs < clock.monotonicMs())
          throw new KeyUnavailableError('the KMS plugin has not confirmed its key', {
            cause: monitor.error,
          });
        const { encrypted, inEnvelope, transformer } = writeKey;
        const data = transformer.toStorage(value, etcdKey);
        measures.keyUsed('to_storage', encrypted.keyId);
        return inEnvelope(data);
      },
      fromStorage: (value, etcdKey, trace) => {
        const object = decodeEncryptedObject(value);
        const read = (transformer: SyncTransformer): Transformed => {
          const { value: plain } = transformer.fromStorage(object.data, etcdKey);
          const { keyId } = object.key;
          measures.keyUsed('from_storage', keyId);
          return { value: plain, stale: object.keyType !== 'seed' || keyId !== writeKey?.encrypted.keyId };
        };
        const transformer = keyFor(object, trace);
        return transformer instanceof Promise ? transformer.then(read) : read(transformer);
      },
    },
    check: monitor.check,
    firstCheck: monitor.firstCheck,
    close: () => {
      monitor.close();
      service.close();
    },
  };
}

/** The cache key: the plugin may decrypt the same bytes differently with another key ID or annotations. */
function cacheKeyOf({ ciphertext, keyId, annotations }: EncryptedKey, keyType: EncryptedObject['keyType']): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([keyType, keyId, ciphertext.length]))
    .update(ciphertext);
  for (const [name, value] of [...annotations].sort(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(JSON.stringify([name, value.length])).update(value);
  return hash.digest('base64');
}
