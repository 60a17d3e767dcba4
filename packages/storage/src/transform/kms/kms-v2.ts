import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { loopOf, type Span } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Pieces } from '../../pieces.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { SyncTransformer, Transformed, Transformer } from '../transformer.ts';
import { derivedKeyGcm } from './derived-key.ts';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  createEnvelopeWriter,
  keyIdProblem,
  validateKeyId,
  validateEncryptedKey,
} from './encrypted-object.ts';
import { type KmsPlugin, type KmsPluginOptions, PluginMonitor } from './plugin-monitor.ts';
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
  readonly seed: KeyObject;
  readonly inEnvelope: (data: Pieces) => Pieces;
  readonly transformer: SyncTransformer;
  readonly untilMs: number;
}

/**
 * The plugin encrypts a random seed once, and values get keys derived from it. So writes, and reads of values with a cached
 * seed, need no call. When the plugin reports another key, a new seed is created, and values with the old one are stale.
 */
export class KmsV2 implements KmsPlugin {
  readonly transformer: Transformer = {
    toStorage: (value, etcdKey) => this.#encrypt(value, etcdKey),
    fromStorage: (value, etcdKey, trace) => this.#decrypt(value, etcdKey, trace),
  };
  readonly #service: KmsV2Service;
  readonly #options: KmsPluginOptions;
  readonly #keys: KeyCache<SyncTransformer>;
  readonly #monitor: PluginMonitor;
  #writeKey: WriteKey | undefined;
  /** A key of the plugin did not open its value: either the value is corrupt, or the plugin answers wrongly. */
  #isSuspect = false;

  constructor(service: KmsV2Service, options: KmsPluginOptions) {
    this.#service = service;
    this.#options = options;
    this.#keys = new KeyCache(seedsMax, options.measures);
    this.#monitor = new PluginMonitor(() => this.#checkStatus(), options);
  }

  get firstCheck(): Promise<void> {
    return this.#monitor.firstCheck;
  }

  check(): void {
    this.#monitor.check();
  }

  close(): void {
    this.#monitor.close();
    this.#service.close();
  }

  #encrypt(value: Uint8Array, etcdKey: string): Pieces {
    const { clock, measures } = this.#options;
    if (!this.#writeKey || this.#writeKey.untilMs < clock.monotonicMs())
      throw new KeyUnavailableError('the KMS plugin has not confirmed its key', { cause: this.#monitor.error });
    const { encrypted, inEnvelope, transformer } = this.#writeKey;
    const data = transformer.toStorage(value, etcdKey);
    measures.keyUsed('to_storage', encrypted.keyId);
    return inEnvelope(data);
  }

  #decrypt(value: Buffer, etcdKey: string, trace: Span | undefined): Transformed | Promise<Transformed> {
    const object = decodeEncryptedObject(value);
    const { keyId } = object.key;
    const name = cacheKeyOf(object.key, object.keyType);
    const read = (transformer: SyncTransformer): Transformed => {
      const { value: plain } = transformer.fromStorage(object.data, etcdKey);
      this.#keys.confirm(name, transformer);
      this.#options.measures.keyUsed('from_storage', keyId);
      return { value: plain, stale: object.keyType !== 'seed' || keyId !== this.#writeKey?.encrypted.keyId };
    };
    const transformer = this.#keyOf(name, object, trace);
    if (!(transformer instanceof Promise)) return read(transformer);
    // Thousands of values may have waited for one key, and both a value and an error take time.
    const turns = loopOf(this.#options.clock);
    return transformer.then(
      (loaded) =>
        turns.runOrSchedule(() => {
          try {
            return read(loaded);
          } catch (error) {
            this.#isSuspect = true;
            this.#monitor.noteFailure();
            throw error;
          }
        }),
      (error: unknown) =>
        turns.runOrSchedule(() => {
          throw error;
        }),
    );
  }

  #keyOf(
    name: string,
    { key, keyType }: EncryptedObject,
    trace: Span | undefined,
  ): SyncTransformer | Promise<SyncTransformer> {
    const { random } = this.#options;
    const load = async (): Promise<SyncTransformer> => {
      const plain = createSecretKey(await this.#service.decrypt(key, random.uuid(), trace));
      return keyType === 'seed' ? derivedKeyGcm(plain, random) : aesGcm({ key: plain, random, onNonce: () => {} });
    };
    return this.#keys.get(name, () => this.#monitor.track(load()));
  }

  async #checkStatus(): Promise<void> {
    const { clock, measures } = this.#options;
    // Counted from before the request, because the response may be as old.
    const untilMs = clock.monotonicMs() + graceMs;
    const { version, healthz, keyId } = await this.#service.status();
    if (version !== 'v2' && version !== 'v2beta1') throw new Error('the plugin reports another API version than v2');
    if (healthz !== 'ok') throw new Error('the plugin reports that it is unhealthy');
    const problem = keyIdProblem(keyId);
    if (problem) measures.keyIdInvalid(problem);
    validateKeyId(keyId);
    measures.keyIdReported(keyId);
    if (this.#isSuspect && this.#writeKey) {
      await this.#requireDecryption(this.#writeKey.encrypted, this.#writeKey.seed);
      this.#isSuspect = false;
    }
    if (this.#writeKey?.encrypted.keyId === keyId) this.#writeKey = { ...this.#writeKey, untilMs };
    else {
      const next = await this.#newWriteKey(untilMs);
      // If the plugin changes its key in between, the next check retries, and writes go on with the present key.
      if (next.encrypted.keyId !== keyId) throw new Error('the plugin encrypts with another key than it reports');
      this.#writeKey = next;
    }
  }

  async #newWriteKey(untilMs: number): Promise<WriteKey> {
    const { random } = this.#options;
    const plain = random.bytes(seedBytes);
    const encrypted = await this.#service.encrypt(plain, random.uuid());
    validateEncryptedKey(encrypted);
    const seed = createSecretKey(plain);
    // Values would be unreadable after the next start.
    await this.#requireDecryption(encrypted, seed);
    const transformer = derivedKeyGcm(seed, random);
    this.#keys.set(cacheKeyOf(encrypted, 'seed'), transformer);
    const inEnvelope = createEnvelopeWriter({ key: encrypted, keyType: 'seed' });
    return { encrypted, seed, inEnvelope, transformer, untilMs };
  }

  async #requireDecryption(encrypted: EncryptedKey, seed: KeyObject): Promise<void> {
    const plain = await this.#service.decrypt(encrypted, this.#options.random.uuid());
    if (plain.length !== seedBytes || !createSecretKey(plain).equals(seed))
      throw new Error('the plugin does not decrypt what it encrypted');
  }
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
