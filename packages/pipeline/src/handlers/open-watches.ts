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

interface Progress {
  readBytes: number;
  sinceMs: number;
}

/** Tracks the watches of this replica: counts them per user, and cuts off those whose client stopped reading. */
export class OpenWatches {
  readonly #options: OpenWatchesOptions;
  readonly #byUser = new Map<string, number>();
  readonly #streams = new Map<WatchStream, Progress>();
  #cancelCheck: (() => void) | undefined;

  constructor(options: OpenWatchesOptions) {
    this.#options = options;
  }

  /**
   * Counts a watch of the user until the returned function is called. Throws TooManyRequests if the user has too many.
   */
  acquire({ name, groups }: UserInfo): () => void {
    const { maxPerUser } = this.#options;
    const open = this.#byUser.get(name) ?? 0;
    // Cluster administrators can always watch, to investigate.
    if (maxPerUser > 0 && open >= maxPerUser && !groups.includes(mastersGroup))
      throw new StatusError(
        'TooManyRequests',
        `user ${JSON.stringify(name)} has ${open} watches open on this server, which is the limit; close some of them or try again later`,
        { retryAfterSeconds },
      );
    this.#byUser.set(name, open + 1);
    return () => {
      const left = (this.#byUser.get(name) ?? 0) - 1;
      if (left > 0) this.#byUser.set(name, left);
      else this.#byUser.delete(name);
    };
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
