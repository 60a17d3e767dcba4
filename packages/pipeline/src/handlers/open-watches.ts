import type { Clock } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import { StatusError, type UserInfo } from '@cluster-apiserver/model';

/** A client that takes nothing for this long while something waits for it: as long as an unread answer is kept. */
const stallMs = 60_000;

/** One look at all watches; each is ended at most this much later than it could be. */
const checkIntervalMs = 10_000;

/** By then a controller that leaks watches may have been stopped, or some of its watches have ended. */
const retryAfterSeconds = 30;

export interface OpenWatchesOptions {
  readonly clock: Clock;
  /** How many watches a user may have open here; 0 for any number. */
  readonly maxPerUser: number;
  /** Some were ended because their clients read nothing. Called at most once for each look at them. */
  readonly reportStalled: (count: number) => void;
}

/** A stream of events that a client reads, or does not. */
export interface WatchStream {
  readonly writtenBytes: number;
  /** Of these, what the client has not taken yet. */
  readonly backlogBytes: number;
  /** Ends it, whatever waits. */
  cutOff(): void;
}

interface Progress {
  readBytes: number;
  sinceMs: number;
}

/** The watches of this process: how many each user has, and which of them nobody reads. */
export class OpenWatches {
  readonly #options: OpenWatchesOptions;
  readonly #byUser = new Map<string, number>();
  readonly #streams = new Map<WatchStream, Progress>();
  #cancelCheck: (() => void) | undefined;

  constructor(options: OpenWatchesOptions) {
    this.#options = options;
  }

  /** Counts a watch of a user until the call of what it returns. Throws the answer to a user who has too many. */
  acquire({ name, groups }: UserInfo): () => void {
    const { maxPerUser } = this.#options;
    const open = this.#byUser.get(name) ?? 0;
    // Whoever has to find out what went wrong can still watch.
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

  /** Cuts the stream when its client reads nothing for too long, until the call of what it returns. */
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
