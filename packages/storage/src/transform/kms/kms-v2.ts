import { createHash, createSecretKey } from 'node:crypto';
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { ReadyTransformer, Transformed, Transformer } from '../transformer.ts';
import { derivedKeyGcm } from './derived-key.ts';
import {
  decodeEncryptedObject,
  encodeEncryptedObject,
  type EncryptedObject,
  requireKeyId,
  requireSound,
} from './encrypted-object.ts';
import type { EncryptedKey, KmsV2Service } from './service.ts';
import { SharedKeys } from './shared-keys.ts';

/** How often a plugin is asked for its key: that is how soon a rotation is noticed. */
const pollMs = 60_000;
/** And how often one that does not answer. */
const retryMs = 1_000;
/** A plugin that falls silent keeps nobody from writing for this long. */
const graceMs = 180_000;
const seedBytes = 32;
/** Each start of a replica makes a seed, and each rotation; values keep theirs until they are written again. */
const seedsMax = 1_000;

export interface KmsPluginOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The plugin answers well, after it did not or had not been asked: what could not be read may be readable. */
  readonly recovered: () => void;
  readonly failed: (error: unknown) => void;
}

/** Values behind a plugin, and how the plugin is. */
export interface KmsPlugin {
  readonly transformer: Transformer;
  /** Throws the reason when it is not well. */
  check(): void | Promise<void>;
  /** Resolves when the plugin has been asked for the first time, whatever came of it. */
  readonly asked: Promise<void>;
  close(): void;
}

/** What values are written with, and until when. */
interface WriteKey {
  readonly encrypted: EncryptedKey;
  readonly transformer: ReadyTransformer;
  readonly untilMs: number;
}

/**
 * A seed of our own is encrypted by the plugin once, and each value gets a key derived from it: so neither a write nor
 * the read of a value with a known seed needs a call. When the plugin says that its key is another one, a new seed is
 * made, and what was written with the old one is stale.
 */
export function kmsV2(service: KmsV2Service, { clock, random, recovered, failed }: KmsPluginOptions): KmsPlugin {
  const keys = new SharedKeys<ReadyTransformer>(seedsMax);
  const closing = new AbortController();
  const asked = Promise.withResolvers<void>();
  let writeKey: WriteKey | undefined;
  let fault: Error | undefined = new KeyUnavailableError('the key management plugin has not been asked yet');

  const newWriteKey = async (): Promise<WriteKey> => {
    const seed = random.bytes(seedBytes);
    const encrypted = await service.encrypt(seed, random.uuid());
    requireSound(encrypted);
    const transformer = derivedKeyGcm(createSecretKey(seed), random);
    keys.set(nameOf(encrypted, 'seed'), transformer);
    return { encrypted, transformer, untilMs: clock.monotonicMs() + graceMs };
  };

  const ask = async (): Promise<void> => {
    // Counted from before the question: the answer is not younger than that.
    const untilMs = clock.monotonicMs() + graceMs;
    const { version, healthz, keyId } = await service.status();
    if (version !== 'v2' && version !== 'v2beta1') throw new Error('the plugin speaks another version than v2');
    if (healthz !== 'ok') throw new Error('the plugin says that it is not well');
    requireKeyId(keyId);
    if (writeKey?.encrypted.keyId === keyId) writeKey = { ...writeKey, untilMs };
    else {
      const next = await newWriteKey();
      // A plugin that changes its key between two answers is asked again, and writes go on with what there is.
      if (next.encrypted.keyId !== keyId) throw new Error('the plugin encrypts with another key than it says');
      writeKey = next;
    }
  };

  const poll = async (): Promise<void> => {
    for (;;) {
      try {
        await ask();
        const wasFaulty = fault !== undefined;
        fault = undefined;
        if (wasFaulty) recovered();
      } catch (error) {
        if (closing.signal.aborted) return;
        if (String(error) !== String(fault)) failed(error);
        fault = error instanceof Error ? error : new Error(String(error));
      }
      asked.resolve();
      await sleep(clock, fault === undefined ? pollMs : retryMs, closing.signal);
    }
  };
  poll().catch(() => {}); // The only way here is the end of the sleep by `closing`.

  const keyFor = ({ key, keyType }: EncryptedObject): ReadyTransformer | Promise<ReadyTransformer> =>
    keys.get(nameOf(key, keyType), async () => {
      const plain = createSecretKey(await service.decrypt(key, random.uuid()));
      return keyType === 'seed' ? derivedKeyGcm(plain, random) : aesGcm({ key: plain, random, drewNonce: () => {} });
    });

  return {
    transformer: {
      toStorage: (value, etcdKey) => {
        if (!writeKey || writeKey.untilMs < clock.monotonicMs())
          throw new KeyUnavailableError('the key management plugin has not confirmed its key', { cause: fault });
        const { encrypted, transformer } = writeKey;
        return encodeEncryptedObject({
          data: transformer.toStorage(value, etcdKey),
          key: encrypted,
          keyType: 'seed',
        });
      },
      fromStorage: (value, etcdKey) => {
        const object = decodeEncryptedObject(value);
        const read = (transformer: ReadyTransformer): Transformed => ({
          value: transformer.fromStorage(Buffer.from(object.data), etcdKey).value,
          stale: object.keyType !== 'seed' || object.key.keyId !== writeKey?.encrypted.keyId,
        });
        const transformer = keyFor(object);
        return transformer instanceof Promise ? transformer.then(read) : read(transformer);
      },
    },
    check: () => {
      if (fault) throw fault;
    },
    asked: asked.promise,
    close: () => {
      closing.abort();
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
