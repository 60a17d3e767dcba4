/** Decrypts the values of etcd with the transformer. */
import { type Clock, loopOf, type Span } from '@cluster-apiserver/base';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Entry, UnreadableEntry } from '../store.ts';
import type { StoredValue } from '../stored-value.ts';
import { prefixOf } from '../transform/prefix-transformer.ts';
import type { Transformed, Transformer, UsableKeys } from '../transform/transformer.ts';
import type { KeyValue } from './wire/key-value.ts';

/** Most transformers return synchronously, and then the result is no promise. */
export function readValue(
  transformer: Transformer,
  keyValue: KeyValue,
  trace?: Span,
  keys?: UsableKeys,
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
    const transformed = transformer.fromStorage(keyValue.value, key, trace, keys);
    return transformed instanceof Promise ? transformed.then(stored, corrupt) : stored(transformed);
  } catch (cause) {
    return corrupt(cause);
  }
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
 * As many values of a source wait for their keys. A KMS plugin that hangs fails a hundred calls for each timeout, so more
 * would only take memory.
 */
const pendingMax = 2_000;

/**
 * Decrypts many values, of which some may be unreadable. A value whose key takes longer than the timeout is unreadable for
 * now and decrypted in the background. After the first one, the other values of its source, a provider of keys for a
 * resource, get no timeout at all until one is quick again: a KMS plugin that hangs costs one timeout, and not one per
 * value. While too many values of a source are pending, the others are only decrypted with cached keys.
 */
export class EntryReader {
  readonly #transformer: Transformer;
  readonly #clock: Clock;
  /** The index of the resource's name in a key. */
  readonly #resourceAt: number;
  readonly #slowSources = new Set<string>();
  readonly #pendingBySource = new Map<string, PendingValues>();

  constructor(transformer: Transformer, clock: Clock, resourceAt: number) {
    this.#transformer = transformer;
    this.#clock = clock;
    this.#resourceAt = resourceAt;
  }

  /** Without a timeout it waits as long as the key takes. */
  read(keyValue: KeyValue, timeoutMs: number | undefined): Entry | Promise<Entry> {
    if (timeoutMs === undefined) return this.#readEntry(keyValue, timeoutMs);
    const entry = this.#readEntry(keyValue, timeoutMs, this.#postpone(keyValue));
    return entry instanceof Promise ? this.#readWithTimeout(keyValue, entry, timeoutMs) : entry;
  }

  /** Until when the key of a value must not be requested; undefined if it may be. */
  #postpone(keyValue: KeyValue): Promise<void> | undefined {
    if (this.#pendingBySource.size === 0) return undefined;
    const pending = this.#pendingBySource.get(this.#sourceOf(keyValue));
    return pending && pending.count >= pendingMax ? pending.halved : undefined;
  }

  #readEntry(keyValue: KeyValue, timeoutMs: number | undefined, postponed?: Promise<void>): Entry | Promise<Entry> {
    const failed = (error: unknown): UnreadableEntry => {
      if (!(error instanceof CorruptValueError)) throw error;
      return { ...this.#unreadable(keyValue, error, timeoutMs), postponed };
    };
    try {
      const value = readValue(this.#transformer, keyValue, undefined, postponed ? 'cached' : 'all');
      return value instanceof Promise ? value.catch(failed) : value;
    } catch (error) {
      return failed(error);
    }
  }

  async #readWithTimeout(keyValue: KeyValue, entry: Promise<Entry>, timeoutMs: number): Promise<Entry> {
    const source = this.#sourceOf(keyValue);
    const beganMs = this.#clock.monotonicMs();
    const decrypting = entry.then((read) => {
      if (!read.unreadable && this.#clock.monotonicMs() - beganMs <= timeoutMs) this.#slowSources.delete(source);
      return read;
    });
    const waitMs = this.#slowSources.has(source) ? 0 : timeoutMs;
    const first = await Promise.race([decrypting, waitUnlessSettled(this.#clock, waitMs, decrypting)]);
    if (first !== timedOut) return first;
    this.#slowSources.add(source);
    // The time of thousands of values may be over at once.
    return loopOf(this.#clock).runOrSchedule(() => {
      void this.#countPending(source, decrypting);
      const cause = new KeyUnavailableError('its key is still being decrypted');
      const unreadable = new CorruptValueError([keyValue.key], { cause });
      return { ...this.#unreadable(keyValue, unreadable, timeoutMs), pending: decrypting };
    });
  }

  async #countPending(source: string, decrypting: Promise<unknown>): Promise<void> {
    let pending = this.#pendingBySource.get(source);
    if (!pending) this.#pendingBySource.set(source, (pending = new PendingValues()));
    pending.add();
    await decrypting;
    pending.remove();
    if (pending.count === 0) this.#pendingBySource.delete(source);
  }

  /** With a timeout, a retry may be deferred or postponed like the first attempt. */
  #unreadable(keyValue: KeyValue, unreadable: CorruptValueError, timeoutMs: number | undefined): UnreadableEntry {
    const { key, modRevision } = keyValue;
    // Copied, so that it does not keep the memory of the whole message.
    const own = { ...keyValue, value: Buffer.from(keyValue.value) };
    // Thousands of values may be retried together.
    const retry = async (): Promise<Entry> => loopOf(this.#clock).runOrSchedule(() => this.read(own, timeoutMs));
    return { key, revision: revision(modRevision), unreadable, retry };
  }

  #sourceOf({ key, value }: KeyValue): string {
    return `${this.resourceOf(key)} ${prefixOf(value) ?? ''}`;
  }

  /** Such as serviceaccounts; empty if the key has no resource. */
  resourceOf(key: string): string {
    return key.slice(this.#resourceAt, Math.max(this.#resourceAt, key.indexOf('/', this.#resourceAt)));
  }
}

/** Counts the values of a source that wait for their keys. */
class PendingValues {
  #count = 0;
  #halving: PromiseWithResolvers<void> | undefined;

  get count(): number {
    return this.#count;
  }

  /** Resolves when only half of the permitted values are left. */
  get halved(): Promise<void> {
    this.#halving ??= Promise.withResolvers();
    return this.#halving.promise;
  }

  add(): void {
    this.#count++;
  }

  remove(): void {
    this.#count--;
    if (this.#count > pendingMax / 2) return;
    this.#halving?.resolve();
    this.#halving = undefined;
  }
}
