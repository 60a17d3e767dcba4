import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { Transformer } from '../transformer.ts';

/** Values behind a plugin, and how the plugin is. */
export interface KmsPlugin {
  readonly transformer: Transformer;
  /** Throws the reason when it is not well. */
  check(): void;
  /** Resolves when the plugin has been asked for the first time, whatever came of it; `check` tells what. */
  readonly firstCheck: Promise<void>;
  close(): void;
}

export interface KmsPluginOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly measures: KmsMeasures;
  /** The plugin answers well, after something was asked of it in vain: what could not be read may be readable. */
  readonly onRecovered: () => void;
  /** How it is has become worse, or bad in another way. The first answer is told by `check` alone. */
  readonly onUnhealthy: (error: unknown) => void;
}

/** What is worth counting. */
export interface KmsMeasures {
  /** A value was written or read with one of the plugin's keys. */
  keyUsed(by: 'to_storage' | 'from_storage', keyId: string): void;
  /** The plugin said that it encrypts with this key now. */
  keyIdReported(keyId: string): void;
  /** It said what can be the name of no key. */
  keyIdInvalid(why: 'empty' | 'too_long'): void;
  /** A key was not in memory: the plugin has to be asked for it. */
  cacheMissed(): void;
  /** So many keys are in memory. */
  cacheSized(keys: number): void;
}

/** How often a plugin is asked how it is: that is how soon a rotation is noticed. */
const pollMs = 60_000;
/** And how often one that is not well. */
const retryMs = 1_000;
/** A call failed although the plugin is well: what is tried again for its sake is tried ever more seldom. */
const recheckFirstMs = 1_000;
const recheckMaxMs = 300_000;

export interface PluginMonitor extends Pick<KmsPlugin, 'check' | 'firstCheck'> {
  /** Why the plugin is not well. */
  readonly error: Error | undefined;
  /** Passes a call of the plugin on: when it fails, the plugin is soon asked how it is. */
  track<T>(call: Promise<T>): Promise<T>;
  close(): void;
}

/** Asks a plugin how it is: now and then while all is well, and soon when it is not or when a call of it failed. */
export function monitorPlugin(
  ask: () => Promise<void>,
  {
    clock,
    random,
    onRecovered: recovered,
    onUnhealthy: failed,
  }: Pick<KmsPluginOptions, 'clock' | 'random' | 'onRecovered' | 'onUnhealthy'>,
): PluginMonitor {
  const closing = new AbortController();
  const asked = Promise.withResolvers<void>();
  const pauses = backoff({ firstMs: recheckFirstMs, maxMs: recheckMaxMs }, random);
  let fault: Error | undefined = new KeyUnavailableError('the key management plugin has not been asked yet');
  let firstAnswer = true;
  let inVain = false;
  let rest = new AbortController();

  const look = async (): Promise<void> => {
    const before = fault;
    fault = await ask().then(() => undefined, asError);
    asked.resolve();
    if (closing.signal.aborted) return;
    if (fault && !firstAnswer && String(fault) !== String(before)) failed(fault);
    firstAnswer = false;
    if (fault) inVain = true;
    else if (inVain) {
      inVain = false;
      recovered();
    }
  };
  const pause = async (): Promise<void> => {
    if (fault) return sleep(clock, retryMs, closing.signal);
    rest = new AbortController();
    if (!inVain) await sleep(clock, pollMs, rest.signal).catch(() => {}); // ends early when a call fails
    if (inVain) await sleep(clock, pauses.nextMs(), closing.signal);
    else pauses.reset();
  };
  void (async () => {
    while (!closing.signal.aborted) {
      await look();
      await pause();
    }
  })().catch(() => {}); // The only way here is the end of a pause by `close`.

  return {
    get error() {
      return fault;
    },
    check: () => {
      if (fault) throw fault;
    },
    firstCheck: asked.promise,
    track: (call) =>
      call.catch((error: unknown) => {
        inVain = true;
        rest.abort();
        throw error;
      }),
    close: () => {
      closing.abort();
      rest.abort();
    },
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
