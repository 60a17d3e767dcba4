import { asError, type Backoff, backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Transformer } from '../transformer.ts';

/** A transformer that uses a KMS plugin, and the health of the plugin. */
export interface KmsPlugin {
  readonly transformer: Transformer;
  /** Throws the reason if the plugin is not healthy. */
  check(): void;
  /** Resolves after the first check, whatever its result. */
  readonly firstCheck: Promise<void>;
  close(): void;
}

export interface KmsPluginOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly measures: KmsMeasures;
  /** The plugin is healthy again after a failure, so unreadable values may be readable. */
  readonly onRecovered: () => void;
  /** The plugin has become unhealthy, or has another error. Not called for the first check. */
  readonly onUnhealthy: (error: unknown) => void;
}

export interface KmsMeasures {
  /** A value was encrypted or decrypted with one of the plugin's keys. */
  keyUsed(by: 'to_storage' | 'from_storage', keyId: string): void;
  /** The plugin has reported the key that it encrypts with. */
  keyIdReported(keyId: string): void;
  /** The plugin has reported an invalid key ID. */
  keyIdInvalid(why: 'empty' | 'too_long'): void;
  /** A key was not in the cache, so the plugin has to decrypt it. */
  cacheMissed(): void;
  /** The number of keys in the cache. */
  cacheSized(keys: number): void;
}

/** How often a healthy plugin is checked, and so how soon a key rotation is detected. */
const pollMs = 60_000;
/** How often an unhealthy plugin is checked. */
const retryMs = 1_000;
/** If a call fails although the plugin is healthy, it is checked again after pauses that grow. */
const recheckFirstMs = 1_000;
const recheckMaxMs = 300_000;

type Health =
  | { readonly state: 'unchecked' | 'unhealthy'; readonly error: Error }
  | { readonly state: 'healthy'; readonly error?: undefined };

type MonitorOptions = Pick<KmsPluginOptions, 'clock' | 'random' | 'onRecovered' | 'onUnhealthy'>;

/** Checks a plugin periodically, and soon while it is unhealthy or after a failed call. */
export class PluginMonitor {
  readonly #checkStatus: () => Promise<void>;
  readonly #options: MonitorOptions;
  readonly #recheckDelays: Backoff;
  readonly #closing = new AbortController();
  readonly #firstCheck = Promise.withResolvers<void>();
  #health: Health = {
    state: 'unchecked',
    error: new KeyUnavailableError('the KMS plugin has not been checked yet'),
  };
  /** A check or a call has failed, so there may be unreadable values to retry once the plugin is healthy. */
  #hasFailed = false;
  /** Aborted to end the delay early. */
  #pollDelay = new AbortController();

  constructor(checkStatus: () => Promise<void>, options: MonitorOptions) {
    this.#checkStatus = checkStatus;
    this.#options = options;
    this.#recheckDelays = backoff({ firstMs: recheckFirstMs, maxMs: recheckMaxMs }, options.random);
    this.#run().catch(() => {}); // only `close` ends it, by the signal of the sleep
  }

  /** Why the plugin is not healthy. */
  get error(): Error | undefined {
    return this.#health.error;
  }

  /** Resolves after the first check, whatever its result. */
  get firstCheck(): Promise<void> {
    return this.#firstCheck.promise;
  }

  /** Throws the reason if the plugin is not healthy. */
  check(): void {
    if (this.#health.error) throw this.#health.error;
  }

  /** Returns a call of the plugin. If it fails, the plugin is checked soon. */
  track<T>(call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
      this.noteFailure();
      throw error;
    });
  }

  /** The plugin has given a wrong key, so it is checked soon. */
  noteFailure(): void {
    this.#hasFailed = true;
    this.#pollDelay.abort();
  }

  close(): void {
    this.#closing.abort();
    this.#pollDelay.abort();
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#checkHealth();
      await this.#waitForNextCheck();
    }
  }

  async #checkHealth(): Promise<void> {
    const health = await this.#checkStatus().then(
      (): Health => ({ state: 'healthy' }),
      (error: unknown): Health => ({ state: 'unhealthy', error: asError(error) }),
    );
    this.#health = health;
    this.#firstCheck.resolve();
    if (this.#closing.signal.aborted) return;
    const { onRecovered, onUnhealthy } = this.#options;
    if (health.error) {
      this.#hasFailed = true;
      onUnhealthy(health.error);
    } else if (this.#hasFailed) {
      this.#hasFailed = false;
      onRecovered();
    }
  }

  async #waitForNextCheck(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    if (this.#health.error) return sleep(clock, retryMs, signal);
    this.#pollDelay = new AbortController();
    if (!this.#hasFailed) await sleep(clock, pollMs, this.#pollDelay.signal).catch(() => {}); // ends early if a call fails
    if (this.#hasFailed) await sleep(clock, this.#recheckDelays.nextMs(), signal);
    else this.#recheckDelays.reset();
  }
}
