/** Decrypts the values of etcd with the transformer. */
import { type Clock, DeadlineExceededError, type Span, awaitWithin } from '@cluster-apiserver/base';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Call, Entry, StoredValue, UnreadableEntry } from '../store.ts';
import type { Transformed, Transformer } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** Most transformers return synchronously, and then the result is no promise. */
export function readValue(
  transformer: Transformer,
  keyValue: KeyValue,
  trace?: Span,
): StoredValue | Promise<StoredValue> {
  const { key, modRevision } = keyValue;
  const stored = ({ value, stale, source }: Transformed): StoredValue => ({
    key,
    value,
    revision: revision(modRevision),
    stale,
    source,
  });
  const corrupt = (cause: unknown): never => {
    throw new CorruptValueError([key], { cause });
  };
  try {
    const transformed = transformer.fromStorage(keyValue.value, key, trace);
    return transformed instanceof Promise ? transformed.then(stored, corrupt) : stored(transformed);
  } catch (cause) {
    return corrupt(cause);
  }
}

/** Waits for a transformer until the call's deadline, or until its caller disconnects. */
export function awaitBeforeDeadline<T>(result: T | Promise<T>, call: Call, clock: Clock): T | Promise<T> {
  if (!(result instanceof Promise)) return result;
  return awaitWithin(clock, call, result).catch((error: unknown) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    throw new KeyUnavailableError('the KMS plugin did not provide the key in time', { cause: error });
  });
}

const timedOut = Symbol('time is over');

/** Resolves after the delay. The timer is cancelled if the other promise settles before. */
function waitUnlessSettled(clock: Clock, delayMs: number, unless: Promise<unknown>): Promise<typeof timedOut> {
  return new Promise((resolve) => {
    const cancel = clock.after(Math.max(0, Math.ceil(delayMs)), () => resolve(timedOut));
    unless.then(cancel, cancel);
  });
}

/**
 * Decrypts many values, of which some may be unreadable. A value whose key takes longer than the timeout is unreadable for
 * now and decrypted in the background. After the first one, the other values of its resource get no timeout at all until
 * one is quick again: a KMS plugin that hangs costs one timeout, and not one per value.
 */
export class EntryReader {
  readonly #transformer: Transformer;
  readonly #clock: Clock;
  /** The index of the resource's name in a key. */
  readonly #resourceAt: number;
  readonly #slowResources = new Set<string>();

  constructor(transformer: Transformer, clock: Clock, resourceAt: number) {
    this.#transformer = transformer;
    this.#clock = clock;
    this.#resourceAt = resourceAt;
  }

  /** Without a timeout it waits as long as the key takes. */
  read(keyValue: KeyValue, timeoutMs: number | undefined): Entry | Promise<Entry> {
    const entry = this.#readEntry(keyValue);
    return entry instanceof Promise && timeoutMs !== undefined
      ? this.#readWithTimeout(keyValue, entry, timeoutMs)
      : entry;
  }

  #readEntry(keyValue: KeyValue): Entry | Promise<Entry> {
    const failed = (error: unknown): UnreadableEntry => {
      if (!(error instanceof CorruptValueError)) throw error;
      return this.#unreadable(keyValue, error);
    };
    try {
      const value = readValue(this.#transformer, keyValue);
      return value instanceof Promise ? value.catch(failed) : value;
    } catch (error) {
      return failed(error);
    }
  }

  async #readWithTimeout(keyValue: KeyValue, entry: Promise<Entry>, timeoutMs: number): Promise<Entry> {
    const resource = this.resourceOf(keyValue.key);
    const beganMs = this.#clock.monotonicMs();
    const decrypting = entry.then((read) => {
      if (!read.unreadable && this.#clock.monotonicMs() - beganMs <= timeoutMs) this.#slowResources.delete(resource);
      return read;
    });
    const waitMs = this.#slowResources.has(resource) ? 0 : timeoutMs;
    const first = await Promise.race([decrypting, waitUnlessSettled(this.#clock, waitMs, decrypting)]);
    if (first !== timedOut) return first;
    this.#slowResources.add(resource);
    const cause = new KeyUnavailableError('its key is still being decrypted');
    const { key } = keyValue;
    return { ...this.#unreadable(keyValue, new CorruptValueError([key], { cause })), pending: decrypting };
  }

  #unreadable(keyValue: KeyValue, unreadable: CorruptValueError): UnreadableEntry {
    const { key, modRevision } = keyValue;
    // Copied, so that it does not keep the memory of the whole message.
    const own = { ...keyValue, value: Buffer.from(keyValue.value) };
    return { key, revision: revision(modRevision), unreadable, retry: async () => this.#readEntry(own) };
  }

  /** Such as serviceaccounts; empty if the key has no resource. */
  resourceOf(key: string): string {
    return key.slice(this.#resourceAt, Math.max(this.#resourceAt, key.indexOf('/', this.#resourceAt)));
  }
}
