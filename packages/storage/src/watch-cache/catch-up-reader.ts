import type { Clock } from '@cluster-apiserver/base';
import { RevisionCompactedError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { ItemChange } from './change-window.ts';
import type { CacheItem } from './collection-descriptor.ts';
import type { Changes } from './entry-decoder.ts';
import type { SharedReplay } from './shared-replay.ts';

/**
 * A reader waits at most this long for a replay, or for a change that is still being decrypted, so that its client learns
 * soon that it has to list again.
 */
const waitMaxMs = 10_000;

export interface CatchUpReaderOptions {
  /** Whether the reader needs the changes of a key. The others do not delay it if they are decrypted slowly. */
  readonly covers: (key: string) => boolean;
  readonly notify: () => void;
}

export interface CatchUpReader<Item> {
  /**
   * Returns whole revisions after `sent`, about as many changes as the limit. Undefined if there is nothing yet, and then
   * the reader is notified later; `refused` if the wait took too long. Throws a RevisionCompactedError if the missed changes
   * are no longer available, or the error of the replay.
   */
  take(sent: Revision, limit: number): Changes<Item> | 'refused' | undefined;
  close(): void;
}

/** Assigns readers to replays. */
interface ReaderQueue<Item extends CacheItem> {
  enter(reader: ReplayReader<Item>): void;
  leave(reader: ReplayReader<Item>): void;
  refuse(reader: ReplayReader<Item>): void;
}

export class ReplayReader<Item extends CacheItem> implements CatchUpReader<Item> {
  readonly covers: (key: string) => boolean;
  readonly notify: () => void;
  sent: Revision;
  /** The change that its last `take` had to wait for. */
  blockedBy: ItemChange<Item> | undefined;
  readonly #queue: ReaderQueue<Item>;
  readonly #clock: Clock;
  #replay: SharedReplay<Item> | undefined;
  #cancelWait: (() => void) | undefined;
  #isRefused = false;
  #error: { readonly cause: unknown } | undefined;
  #closed = false;

  constructor(queue: ReaderQueue<Item>, clock: Clock, sent: Revision, options: CatchUpReaderOptions) {
    this.#queue = queue;
    this.#clock = clock;
    this.sent = sent;
    this.covers = options.covers;
    this.notify = options.notify;
  }

  take(sent: Revision, limit: number): Changes<Item> | 'refused' | undefined {
    this.sent = sent;
    if (this.#error) throw this.#error.cause;
    if (this.#isRefused) return 'refused';
    const changes = this.#replay?.take(this, limit);
    if (changes === 'behind') this.#replay?.leave(this);
    else if (changes === 'blocked') this.#startWaiting();
    else if (changes) {
      this.#stopWaiting();
      return changes;
    }
    if (!this.#replay) this.#enter();
    return undefined;
  }

  close(): void {
    this.#closed = true;
    this.#stopWaiting();
    this.#queue.leave(this);
    this.#replay?.leave(this);
  }

  #enter(): void {
    this.#startWaiting();
    this.#queue.enter(this);
  }

  /** Joins a replay. Until the replay has reached its revision, the reader still waits. */
  join(replay: SharedReplay<Item>): void {
    this.#replay = replay;
    replay.join(this);
  }

  /** The reader is in no replay any more and waits for none; `error` is the reason if there can be none. */
  handleReplayEnd(error: unknown): void {
    this.#replay = undefined;
    if (this.#closed || error === undefined) return;
    const isStillAvailable =
      error instanceof RevisionCompactedError &&
      error.oldestRevision !== undefined &&
      this.sent >= error.oldestRevision;
    if (!isStillAvailable) {
      this.#error = { cause: error };
      this.#stopWaiting();
    }
    this.notify();
  }

  #startWaiting(): void {
    this.#cancelWait ??= this.#clock.after(waitMaxMs, () => {
      this.#isRefused = true;
      this.#queue.refuse(this);
      this.#replay?.leave(this);
      this.notify();
    });
  }

  #stopWaiting(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}
