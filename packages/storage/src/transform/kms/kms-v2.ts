import { createHash, createSecretKey } from 'node:crypto';
import type { Span } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Pieces } from '../../pieces.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { ReadyTransformer, Transformed } from '../transformer.ts';
import { derivedKeyGcm } from './derived-key.ts';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  envelopeOf,
  problemOfKeyId,
  requireKeyId,
  requireSound,
} from './encrypted-object.ts';
import { attend, type KmsPlugin, type KmsPluginOptions } from './plugin.ts';
import type { EncryptedKey, KmsV2Service } from './service.ts';
import { SharedKeys } from './shared-keys.ts';

/** A plugin that falls silent keeps nobody from writing for this long. */
const graceMs = 180_000;
const seedBytes = 32;
/** Each start of a replica makes a seed, and each rotation; values keep theirs until they are written again. */
const seedsMax = 1_000;

/** What values are written with, and until when. */
interface WriteKey {
  readonly encrypted: EncryptedKey;
  readonly inEnvelope: (data: Pieces) => Pieces;
  readonly transformer: ReadyTransformer;
  readonly untilMs: number;
}

/**
 * A seed of our own is encrypted by the plugin once, and each value gets a key derived from it: so neither a write nor
 * the read of a value with a known seed needs a call. When the plugin says that its key is another one, a new seed is
 * made, and what was written with the old one is stale.
 */
export function kmsV2(service: KmsV2Service, options: KmsPluginOptions): KmsPlugin {
  const { clock, random, measures } = options;
  const keys = new SharedKeys<ReadyTransformer>(seedsMax, measures);
  let writeKey: WriteKey | undefined;

  const newWriteKey = async (untilMs: number): Promise<WriteKey> => {
    const seed = random.bytes(seedBytes);
    const encrypted = await service.encrypt(seed, random.uuid());
    requireSound(encrypted);
    const transformer = derivedKeyGcm(createSecretKey(seed), random);
    keys.set(nameOf(encrypted, 'seed'), transformer);
    return { encrypted, inEnvelope: envelopeOf({ key: encrypted, keyType: 'seed' }), transformer, untilMs };
  };

  const ask = async (): Promise<void> => {
    // Counted from before the question: the answer is not younger than that.
    const untilMs = clock.monotonicMs() + graceMs;
    const { version, healthz, keyId } = await service.status();
    if (version !== 'v2' && version !== 'v2beta1') throw new Error('the plugin speaks another version than v2');
    if (healthz !== 'ok') throw new Error('the plugin says that it is not well');
    const problem = problemOfKeyId(keyId);
    if (problem) measures.toldNone(problem);
    requireKeyId(keyId);
    measures.told(keyId);
    if (writeKey?.encrypted.keyId === keyId) writeKey = { ...writeKey, untilMs };
    else {
      const next = await newWriteKey(untilMs);
      // A plugin that changes its key between two answers is asked again, and writes go on with what there is.
      if (next.encrypted.keyId !== keyId) throw new Error('the plugin encrypts with another key than it says');
      writeKey = next;
    }
  };
  const attended = attend(ask, options);

  const keyFor = (
    { key, keyType }: EncryptedObject,
    trace: Span | undefined,
  ): ReadyTransformer | Promise<ReadyTransformer> =>
    keys.get(nameOf(key, keyType), async () => {
      const plain = createSecretKey(await attended.watching(service.decrypt(key, random.uuid(), trace)));
      return keyType === 'seed' ? derivedKeyGcm(plain, random) : aesGcm({ key: plain, random, drewNonce: () => {} });
    });

  return {
    transformer: {
      toStorage: (value, etcdKey) => {
        if (!writeKey || writeKey.untilMs < clock.monotonicMs())
          throw new KeyUnavailableError('the key management plugin has not confirmed its key', {
            cause: attended.fault,
          });
        const { encrypted, inEnvelope, transformer } = writeKey;
        const data = transformer.toStorage(value, etcdKey);
        measures.used('to_storage', encrypted.keyId);
        return inEnvelope(data);
      },
      fromStorage: (value, etcdKey, trace) => {
        const object = decodeEncryptedObject(value);
        const read = (transformer: ReadyTransformer): Transformed => {
          const { value: plain } = transformer.fromStorage(object.data, etcdKey);
          const { keyId } = object.key;
          measures.used('from_storage', keyId);
          return { value: plain, stale: object.keyType !== 'seed' || keyId !== writeKey?.encrypted.keyId };
        };
        const transformer = keyFor(object, trace);
        return transformer instanceof Promise ? transformer.then(read) : read(transformer);
      },
    },
    check: attended.check,
    asked: attended.asked,
    close: () => {
      attended.close();
      service.close();
    },
  };
}

/** The same bytes with another key id, or other annotations, are another question to the plugin. */
function nameOf({ ciphertext, keyId, annotations }: EncryptedKey, keyType: EncryptedObject['keyType']): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([keyType, keyId, ciphertext.length]))
    .update(ciphertext);
  for (const [name, value] of [...annotations].sort(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(JSON.stringify([name, value.length])).update(value);
  return hash.digest('base64');
}
