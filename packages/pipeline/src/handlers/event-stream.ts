import { type Clock, onAbort, onSharedAbort } from '@cluster-apiserver/base';
import { Batch, Bookmark, type WatchReader } from '@cluster-apiserver/registry';
import { type Sink, StalledClientError } from '../exchange.ts';
import { type Frames } from '../encoding/watch-frames.ts';
import { toStatusError } from '../stages/error-responses.ts';
import type { WatchEnd } from '../watch-end.ts';
import type { CountedWatch, OpenWatches, WatchStream } from './open-watches.ts';
import type { OpenWatchMeasures } from './watch-measures.ts';

/** Bytes queued for a slow client. Beyond it, events stay in the watch until the client has read some. */
const backlogBytesMax = 32 * 1024;

/** The status of an ERROR event after which clients relist. */
const expiredCode = 410;

/** Often enough that a client of a quiet watch resumes at a revision that is still available. */
const bookmarkIntervalMs = 60_000;

export interface EventStreamOptions {
  readonly clock: Clock;
  readonly durationMs: number;
  readonly bookmarks: boolean;
  readonly openWatches: OpenWatches;
  readonly counted: Pick<CountedWatch, 'countUnread'>;
  readonly measures: OpenWatchMeasures;
  /** Receives the reason when the stream ends. */
  readonly context: { watchEnd?: WatchEnd | undefined };
  readonly reportInternalError: (error: unknown) => void;
  /** Called once, when the initial events have been written. */
  readonly onInitialEventsSent: (() => void) | undefined;
}

/** Writes the events of a watch to its client, as fast as the client reads, until either ends or the time is over. */
export class EventStream implements WatchStream {
  readonly #watching: WatchReader;
  readonly #sink: Sink;
  readonly #frames: Frames;
  readonly #options: EventStreamOptions;
  readonly #finished = Promise.withResolvers<void>();
  #writtenBytes = 0;
  #hasBegun = false;
  /** Set if the stream is cut off instead of ended. */
  #cutOffError: Error | undefined;
  #isFinished = false;
  #isPaused = false;
  /** A client that resumed after the last batch would miss the rest of its revision. */
  #isInsideRevision = false;
  /** Why the stream ends as soon as the client has the whole revision. */
  #endsAfterRevision: WatchEnd | undefined;
  #onInitialEventsSent: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #cancelBookmark: (() => void) | undefined;

  constructor(watching: WatchReader, sink: Sink, frames: Frames, options: EventStreamOptions) {
    this.#watching = watching;
    this.#sink = sink;
    this.#frames = frames;
    this.#options = options;
    this.#onInitialEventsSent = options.onInitialEventsSent;
  }

  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  get backlogBytes(): number {
    return this.#sink.backlogBytes;
  }

  async run(): Promise<void> {
    const { clock, durationMs, bookmarks, openWatches } = this.#options;
    const untrack = openWatches.track(this);
    const end = this.#guard(() => this.#endWithBookmark('draining'));
    const drain = (): void => void cancels.push(openWatches.endInTurn(end));
    const leave = (): void => this.#end(this.#sink.signal.reason instanceof StalledClientError ? 'stalled' : 'client');
    const cancel = clock.after(
      durationMs,
      this.#guard(() => this.#endWithBookmark('timeout')),
    );
    const cancels = [cancel];
    try {
      if (bookmarks) this.#scheduleBookmark();
      this.#pump();
      // After the first events: they are sent even if the server drains.
      cancels.push(onAbort(this.#sink.signal, leave), onSharedAbort(this.#sink.draining, drain));
      await this.#finished.promise;
    } finally {
      for (const cancelListening of cancels) cancelListening();
      this.#cancelBookmark?.();
      this.#watching.close();
      // The client still has to read what was written; until then it can stall.
      if (!this.#cutOffError) await this.#waitUntilDrained();
      untrack();
    }
    if (this.#cutOffError) throw this.#cutOffError;
  }

  cutOff(): void {
    this.#cutOff('stalled', new StalledClientError('the client of a watch stopped reading'));
    this.#guard(() => this.#options.measures.countStalled())();
  }

  /** Ends the stream visibly incomplete, so that the client does not take it for a regular end. */
  #cutOff(why: WatchEnd, error: Error): void {
    this.#cutOffError ??= error;
    this.#stopWaiting?.();
    this.#end(why);
  }

  /**
   * Wraps callbacks of timers, signals and channels: an exception cuts off this stream and must not end the process.
   */
  #guard(act: () => void): () => void {
    return () => {
      try {
        act();
      } catch (error) {
        this.#cutOff('error', error instanceof Error ? error : new Error('a watch failed', { cause: error }));
      }
    };
  }

  /** Resolves when the backlog is empty, or when the stream is cut off. */
  #waitUntilDrained(): Promise<void> {
    return new Promise((resolve) => {
      this.#stopWaiting = resolve;
      void this.#untilDrained().then(resolve);
    });
  }

  /** Resolves when the backlog is empty. It counts for the user meanwhile. */
  async #untilDrained(): Promise<void> {
    const { counted } = this.#options;
    counted.countUnread(this.#sink.backlogBytes);
    await this.#sink.drained();
    counted.countUnread(0);
  }

  readonly #pump = this.#guard(() => {
    if (this.#isFinished || this.#isPaused) return;
    try {
      while (!this.#isFinished) {
        if (this.#sink.backlogBytes > backlogBytesMax) return this.#pauseUntil(this.#untilDrained());
        const batch = this.#watching.take();
        if (!batch) break;
        const encoded = this.#write(batch);
        if (encoded) return this.#pauseUntil(encoded);
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (this.#isFinished) return;
    this.#onInitialEventsSent?.();
    this.#onInitialEventsSent = undefined;
    const { end } = this.#watching;
    if (end) this.#end(end);
    else this.#watching.wait(this.#pump);
  });

  /** The response has begun, so an ERROR event carries the Status. */
  #fail(error: unknown): void {
    if (this.#isFinished) return;
    const status = toStatusError(error);
    if (status.code === 500) this.#options.reportInternalError(error);
    this.#send(this.#frames.error(status));
    this.#end(status.code === expiredCode ? 'expired' : 'error');
  }

  /** Nothing is taken meanwhile. */
  #pauseUntil(ready: Promise<void>): void {
    this.#isPaused = true;
    const resume = this.#guard(() => {
      this.#isPaused = false;
      this.#pump();
    });
    void ready.then(resume, (error: unknown) => this.#guard(() => this.#fail(error))());
  }

  /** Resolves later if encoding takes several turns. */
  #write(batch: Batch): Promise<void> | undefined {
    const write = this.#hasBegun ? this.#frames.later : this.#frames.first;
    const bytes = batch.encodedAs(write, write);
    if (bytes instanceof Promise) return bytes.then((encoded) => this.#sendBatch(batch, encoded));
    this.#sendBatch(batch, bytes);
    return undefined;
  }

  #sendBatch(batch: Batch, bytes: Buffer): void {
    if (this.#isFinished) return;
    // Perhaps none of the objects is selected once they are converted.
    if (bytes.length > 0) {
      this.#hasBegun = true;
      this.#options.measures.countSent(batch.events.length, bytes.length);
      this.#send(bytes);
    }
    this.#isInsideRevision = batch.endsInsideRevision;
    if (this.#endsAfterRevision && !this.#isInsideRevision) this.#end(this.#endsAfterRevision);
  }

  #send(bytes: Buffer): void {
    this.#writtenBytes += bytes.length;
    this.#sink.write(bytes);
  }

  #scheduleBookmark(): void {
    const bookmark = this.#guard(() => {
      this.#sendBookmark();
      this.#scheduleBookmark();
    });
    this.#cancelBookmark = this.#options.clock.after(bookmarkIntervalMs, bookmark);
  }

  /** Sends a bookmark if the client has received all events up to it. */
  #sendBookmark(): void {
    this.#pump();
    if (this.#isFinished || this.#isPaused) return;
    const { reached } = this.#watching;
    if (reached !== undefined && !this.#isFinished)
      void this.#write(new Batch([new Bookmark(reached, false)], reached));
  }

  /** The client can then resume from the bookmark, at this replica or another. */
  #endWithBookmark(why: WatchEnd): void {
    if (this.#options.bookmarks) this.#sendBookmark();
    if (this.#isInsideRevision) this.#endsAfterRevision = why;
    else this.#end(why);
  }

  /** The first reason counts: a client may also leave, or stall, before it has read everything. */
  #end(why: WatchEnd): void {
    this.#options.context.watchEnd ??= why;
    this.#isFinished = true;
    this.#finished.resolve();
  }
}
