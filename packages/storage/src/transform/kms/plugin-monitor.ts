import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Transformer } from '../transformer.ts';

/** A transformer that uses a KMS plugin, and the health of the plugin. */
export interface KmsPlugin {
  readonly transformer: Transformer;
  /** Throws the reason if the plugin is not healthy. */
  readonly check: () => void;
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

export interface PluginMonitor extends Pick<KmsPlugin, 'check' | 'firstCheck'> {
  /** Why the plugin is not healthy. */
  readonly error: Error | undefined;
  /** Returns a call of the plugin. If it fails, the plugin is checked soon. */
  track<T>(call: Promise<T>): Promise<T>;
  close(): void;
}

type Health =
  | { readonly state: 'unchecked' | 'unhealthy'; readonly error: Error }
  | { readonly state: 'healthy'; readonly error?: undefined };

/** Checks a plugin periodically, and soon while it is unhealthy or after a failed call. */
export function monitorPlugin(
  checkStatus: () => Promise<void>,
  {
    clock,
    random,
    onRecovered,
    onUnhealthy,
  }: Pick<KmsPluginOptions, 'clock' | 'random' | 'onRecovered' | 'onUnhealthy'>,
): PluginMonitor {
  const closing = new AbortController();
  const firstCheck = Promise.withResolvers<void>();
  const recheckDelays = backoff({ firstMs: recheckFirstMs, maxMs: recheckMaxMs }, random);
  let health: Health = {
    state: 'unchecked',
    error: new KeyUnavailableError('the KMS plugin has not been checked yet'),
  };
  /** A check or a call has failed, so there may be unreadable values to retry once the plugin is healthy. */
  let hasFailed = false;
  /** Aborted to end the delay early. */
  let pollDelay = new AbortController();

  const checkHealth = async (): Promise<void> => {
    const previous = health;
    health = await checkStatus().then(
      (): Health => ({ state: 'healthy' }),
      (error: unknown): Health => ({ state: 'unhealthy', error: asError(error) }),
    );
    firstCheck.resolve();
    if (closing.signal.aborted) return;
    if (health.error) {
      hasFailed = true;
      if (previous.state !== 'unchecked' && String(health.error) !== String(previous.error)) onUnhealthy(health.error);
    } else if (hasFailed) {
      hasFailed = false;
      onRecovered();
    }
  };
  const waitForNextCheck = async (): Promise<void> => {
    if (health.error) return sleep(clock, retryMs, closing.signal);
    pollDelay = new AbortController();
    if (!hasFailed) await sleep(clock, pollMs, pollDelay.signal).catch(() => {}); // ends early if a call fails
    if (hasFailed) await sleep(clock, recheckDelays.nextMs(), closing.signal);
    else recheckDelays.reset();
  };
  void (async () => {
    while (!closing.signal.aborted) {
      await checkHealth();
      await waitForNextCheck();
    }
  })().catch(() => {}); // only `close` ends the loop, by the sleep's signal

  return {
    get error() {
      return health.error;
    },
    check: () => {
      if (health.error) throw health.error;
    },
    firstCheck: firstCheck.promise,
    track: (call) =>
      call.catch((error: unknown) => {
        hasFailed = true;
        pollDelay.abort();
        throw error;
      }),
    close: () => {
      closing.abort();
      pollDelay.abort();
    },
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
