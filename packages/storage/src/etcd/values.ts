/** Between what etcd keeps and what the store gives: every value passes through the transformer, with its key. */
import { type Clock, DeadlineExceededError, type Span, awaitWithin } from '@cluster-apiserver/base';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Call, Entry, StoredValue, UnreadableEntry } from '../store.ts';
import type { Transformed, Transformer } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** Most transformers answer at once, and then nothing is waited for. */
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

/** What a transformer gives, unless the call's time is over before, or its caller leaves. */
export function awaitBeforeDeadline<T>(result: T | Promise<T>, call: Call, clock: Clock): T | Promise<T> {
  if (!(result instanceof Promise)) return result;
  return awaitWithin(clock, call, result).catch((error: unknown) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    throw new KeyUnavailableError('whoever keeps the key did not answer in time', { cause: error });
  });
}

const timedOut = Symbol('time is over');

/** Resolves after the time, unless the other promise has settled before: then its timer is gone. */
function waitUnlessSettled(clock: Clock, delayMs: number, unless: Promise<unknown>): Promise<typeof timedOut> {
  return new Promise((resolve) => {
    const cancel = clock.after(Math.max(0, Math.ceil(delayMs)), () => resolve(timedOut));
    unless.then(cancel, cancel);
  });
}

/**
 * Reads for those who read many values and go on after one that cannot be read. A value whose key takes too long is
 * unreadable at once, and read aside. After the first such value, those of its resource are not waited for at all, until
 * one of them comes quickly: a plugin that hangs costs the others one wait, and not one for each value.
 */
export class EntryReader {
  readonly #transformer: Transformer;
  readonly #clock: Clock;
  /** Where the name of the resource begins in a key. */
  readonly #resourceAt: number;
  readonly #slow = new Set<string>();

  constructor(transformer: Transformer, clock: Clock, resourceAt: number) {
    this.#transformer = transformer;
    this.#clock = clock;
    this.#resourceAt = resourceAt;
  }

  /** Waits for the key as long as it takes unless there is a limit. */
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
    const settled = entry.then((read) => {
      if (!read.unreadable && this.#clock.monotonicMs() - beganMs <= timeoutMs) this.#slow.delete(resource);
      return read;
    });
    const waitMs = this.#slow.has(resource) ? 0 : timeoutMs;
    const first = await Promise.race([settled, waitUnlessSettled(this.#clock, waitMs, settled)]);
    if (first !== timedOut) return first;
    this.#slow.add(resource);
    const cause = new KeyUnavailableError('its key is waited for');
    const { key } = keyValue;
    return { ...this.#unreadable(keyValue, new CorruptValueError([key], { cause })), pending: settled };
  }

  #unreadable(keyValue: KeyValue, unreadable: CorruptValueError): UnreadableEntry {
    const { key, modRevision } = keyValue;
    // Of its own: what came with it in one message is not kept for its sake.
    const own = { ...keyValue, value: Buffer.from(keyValue.value) };
    return { key, revision: revision(modRevision), unreadable, retry: async () => this.#readEntry(own) };
  }

  /** Such as serviceaccounts; empty where a key names none. */
  resourceOf(key: string): string {
    return key.slice(this.#resourceAt, Math.max(this.#resourceAt, key.indexOf('/', this.#resourceAt)));
  }
}
