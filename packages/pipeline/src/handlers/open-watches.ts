import type { Clock } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import { StatusError, type UserInfo } from '@cluster-apiserver/model';

/**
 * A watch is cut off if its client reads nothing for this long while bytes are queued. Unread responses have the same
 * limit.
 */
const stallMs = 60_000;

/** The interval of the check for stalled watches. */
const checkIntervalMs = 10_000;

/**
 * What the watches of one user may hold: selectors, and events that slow clients have not read. A hundred of the largest
 * selectors, or as many watches as the other limit allows with usual ones.
 */
const heldBytesMax = 64 * 1024 * 1024;

/**
 * What watches with long selectors may hold, of all users: there may be many users, and some memory must be left for the
 * others. Usual selectors are not limited by it.
 */
const longSelectorsBytesMax = 128 * 1024 * 1024;
const longSelectorBytes = 16 * 1024;

/**
 * When the server drains, its watches end over this time, one after the other, or their clients would all come to the other
 * replicas at once. Few watches end sooner: each so long after the one before.
 */
const drainMs = 5_000;
const drainGapMs = 5;

/** By then some of the user's watches may have ended. */
const retryAfterSeconds = 30;

export interface OpenWatchesOptions {
  readonly clock: Clock;
  /** Maximum number of open watches of one user on this replica; 0 for no limit. */
  readonly maxPerUser: number;
  /** Called at most once per check, with the number of watches that were cut off. */
  readonly reportStalled: (count: number) => void;
}

export interface WatchStream {
  readonly writtenBytes: number;
  /** Of these, the bytes that the client has not read yet. */
  readonly backlogBytes: number;
  /** Ends the stream and drops what is queued. */
  cutOff(): void;
}

/** What is counted of one watch. */
export interface CountedWatch {
  /** The events that wait for the client now have so many bytes. */
  countUnread(bytes: number): void;
  /** The watch is over. */
  release(): void;
}

interface Counts {
  watches: number;
  heldBytes: number;
}

interface Progress {
  readBytes: number;
  sinceMs: number;
}

/** Tracks the watches of this replica: counts them per user, and cuts off those whose client stopped reading. */
export class OpenWatches {
  readonly #options: OpenWatchesOptions;
  readonly #byUser = new Map<string, Counts>();
  readonly #streams = new Map<WatchStream, Progress>();
  #longSelectorsBytes = 0;
  #cancelCheck: (() => void) | undefined;
  /** When the next watch may end because the server drains. */
  #nextEndMs = 0;

  constructor(options: OpenWatchesOptions) {
    this.#options = options;
  }

  /**
   * Counts a watch of the user, which holds so many bytes besides unread events. Throws TooManyRequests if the user has too
   * many, or if they hold too much.
   */
  acquire({ name, groups }: UserInfo, heldBytes: number): CountedWatch {
    const { maxPerUser } = this.#options;
    const longBytes = heldBytes > longSelectorBytes ? heldBytes : 0;
    const counts = this.#byUser.get(name) ?? { watches: 0, heldBytes: 0 };
    // Cluster administrators can always watch, to investigate.
    if (!groups.includes(mastersGroup)) {
      if (maxPerUser > 0 && counts.watches >= maxPerUser)
        throw tooManyWatches(name, `has ${counts.watches} watches open`, 'close some of them');
      if (counts.heldBytes + heldBytes > heldBytesMax)
        throw tooManyWatches(
          name,
          `has ${counts.watches} watches open whose selectors and unread events take ${counts.heldBytes} bytes`,
          'close some of them, read them faster, use shorter selectors',
        );
      if (longBytes > 0 && this.#longSelectorsBytes + longBytes > longSelectorsBytesMax)
        throw tooManyRequests(
          `the watches of all users with long selectors take ${this.#longSelectorsBytes} bytes on this server, which is the limit; use a shorter selector or try again later`,
        );
    }
    this.#byUser.set(name, counts);
    counts.watches++;
    counts.heldBytes += heldBytes;
    this.#longSelectorsBytes += longBytes;
    let unreadBytes = 0;
    let isReleased = false;
    const countUnread = (bytes: number): void => {
      // A stream that its client has left may still report.
      if (isReleased) return;
      counts.heldBytes += bytes - unreadBytes;
      unreadBytes = bytes;
    };
    const release = (): void => {
      countUnread(0);
      isReleased = true;
      this.#longSelectorsBytes -= longBytes;
      counts.heldBytes -= heldBytes;
      counts.watches--;
      if (counts.watches === 0) this.#byUser.delete(name);
    };
    return { countUnread, release };
  }

  /** Monitors a stream until the returned function is called, and cuts it off if its client stops reading. */
  track(stream: WatchStream): () => void {
    this.#streams.set(stream, { readBytes: 0, sinceMs: this.#options.clock.monotonicMs() });
    this.#cancelCheck ??= this.#checkLater();
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size > 0) return;
      this.#cancelCheck?.();
      this.#cancelCheck = undefined;
    };
  }

  /** The server drains: ends a watch when its turn has come. The returned function cancels that. */
  endInTurn(end: () => void): () => void {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const atMs = Math.max(nowMs, this.#nextEndMs);
    this.#nextEndMs = atMs + Math.min(drainGapMs, drainMs / this.#streams.size);
    if (atMs > nowMs) return clock.after(atMs - nowMs, end);
    end();
    return () => {};
  }

  #checkLater(): () => void {
    return this.#options.clock.after(checkIntervalMs, () => {
      this.#cancelCheck = this.#checkLater();
      this.#check();
    });
  }

  #check(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const stalled: WatchStream[] = [];
    for (const [stream, progress] of this.#streams) {
      const { backlogBytes } = stream;
      const readBytes = stream.writtenBytes - backlogBytes;
      if (backlogBytes === 0 || readBytes !== progress.readBytes) {
        progress.readBytes = readBytes;
        progress.sinceMs = nowMs;
      } else if (nowMs - progress.sinceMs >= stallMs) stalled.push(stream);
    }
    for (const stream of stalled) {
      this.#streams.delete(stream);
      stream.cutOff();
    }
    if (stalled.length > 0) this.#options.reportStalled(stalled.length);
  }
}

const tooManyWatches = (name: string, state: string, remedy: string): StatusError =>
  tooManyRequests(
    `user ${JSON.stringify(name)} ${state} on this server, which is the limit; ${remedy} or try again later`,
  );

const tooManyRequests = (message: string): StatusError =>
  new StatusError('TooManyRequests', message, { retryAfterSeconds });
