import type { Clock, Random } from '@cluster-apiserver/base';
import { badRequest, type FieldSelector } from '@cluster-apiserver/model';
import { Batch, Bookmark, type Resource, type Watching, watch } from '@cluster-apiserver/registry';
import type { Handler, Sink } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { watchForm } from '../forms/negotiate.ts';
import { type Frames, framesOf } from '../forms/watch-frames.ts';
import { listParameters } from '../options.ts';
import { flag } from '../request-info.ts';
import { asStatus, type ReportFault } from '../stages/answer-errors.ts';

export interface WatchLimits {
  readonly clock: Clock;
  readonly random: Random;
  /** A watch that names no end lasts this long and up to twice as long, so that watches do not all end together. */
  readonly minRequestTimeoutMs: number;
  /** Told of a watch that ended in a fault of ours, which only the stream itself can tell its client. */
  readonly report: ReportFault;
}

/** What may wait for a client that reads slowly. More of it is left where it is until this has gone. */
const backlogBytesMax = 256 * 1024;

/** Often enough that a client of a quiet watch comes back with a version that is still kept. */
const bookmarkIntervalMs = 60_000;

export const watchHandler = (resource: Resource, limits: WatchLimits): Handler<Authenticated> => {
  const framesIn = framesOf(resource);
  return async (facts) => {
    const { webSocket } = facts.request;
    const frames = framesIn(watchForm(facts, resource.served), webSocket ? 'messages' : 'stream');
    const { query, resource: asked } = facts.info;
    const options = listParameters(resource, facts.info);
    const allowWatchBookmarks = flag(query, 'allowWatchBookmarks') ?? false;
    requireSameName(asked?.name, options.fields);
    const watching = await watch(resource, { ...options, name: asked?.name, allowWatchBookmarks }, facts.call);
    const ending = {
      clock: limits.clock,
      durationMs: durationMs(options.timeoutSeconds, limits),
      bookmarks: allowWatchBookmarks,
      fault: (error: unknown) => limits.report(error, facts),
    };
    return {
      status: webSocket ? 101 : 200,
      headers: { 'audit-id': facts.auditId, 'cache-control': 'no-cache, private', 'content-type': frames.contentType },
      body: { stream: (sink) => new Stream(watching, sink, frames, ending).run() },
    };
  };
};

/** A watch path that ends in a name means the one object of that name; a selector for another would select nothing. */
function requireSameName(name: string | undefined, fields: FieldSelector | undefined): void {
  if (name === undefined) return;
  const others = fields?.terms.some((term) => term.field === 'metadata.name' && term.equal && term.value !== name);
  if (others) throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

const durationMs = (timeoutSeconds: number | undefined, { minRequestTimeoutMs, random }: WatchLimits): number =>
  timeoutSeconds
    ? Math.min(timeoutSeconds * 1000, 2 ** 31 - 1)
    : minRequestTimeoutMs + random.below(minRequestTimeoutMs);

interface Ending {
  readonly clock: Clock;
  readonly durationMs: number;
  readonly bookmarks: boolean;
  readonly fault: (error: unknown) => void;
}

/** Takes from a watch what there is, as fast as its client reads, until one of them or the time is at its end. */
class Stream {
  readonly #watching: Watching;
  readonly #sink: Sink;
  readonly #frames: Frames;
  readonly #ending: Ending;
  readonly #over = Promise.withResolvers<void>();
  #begun = false;
  #isOver = false;
  #draining = false;
  #cancelBookmark: (() => void) | undefined;

  constructor(watching: Watching, sink: Sink, frames: Frames, ending: Ending) {
    this.#watching = watching;
    this.#sink = sink;
    this.#frames = frames;
    this.#ending = ending;
  }

  async run(): Promise<void> {
    const { clock, durationMs, bookmarks } = this.#ending;
    const part = (): void => this.#part();
    const gone = (): void => this.#end();
    const cancel = clock.after(durationMs, part);
    this.#sink.signal.addEventListener('abort', gone, { once: true });
    this.#sink.draining.addEventListener('abort', part, { once: true });
    if (bookmarks) this.#bookmarkLater();
    this.#pump();
    if (this.#sink.signal.aborted) this.#end();
    else if (this.#sink.draining.aborted) this.#part();
    await this.#over.promise;
    cancel();
    this.#cancelBookmark?.();
    this.#sink.draining.removeEventListener('abort', part);
    this.#watching.close();
  }

  readonly #pump = (): void => {
    if (this.#isOver || this.#draining) return;
    try {
      for (;;) {
        const batch = this.#watching.take();
        if (!batch) break;
        this.#write(batch);
        if (this.#sink.backlogBytes > backlogBytesMax) return this.#drain();
      }
    } catch (error) {
      // The answer has begun: what ends it has to be told inside.
      const status = asStatus(error);
      if (status.reason === 'InternalError') this.#ending.fault(error);
      this.#sink.write(this.#frames.error(status));
      return this.#end();
    }
    if (this.#watching.ended) this.#end();
    else this.#watching.wait(this.#pump);
  };

  #write(batch: Batch): void {
    const write = this.#begun ? this.#frames.later : this.#frames.first;
    this.#begun = true;
    this.#sink.write(batch.in(write, write));
  }

  #drain(): void {
    this.#draining = true;
    void this.#sink.drained().then(() => {
      this.#draining = false;
      this.#pump();
    });
  }

  #bookmarkLater(): void {
    this.#cancelBookmark = this.#ending.clock.after(bookmarkIntervalMs, () => {
      this.#bookmark();
      this.#bookmarkLater();
    });
  }

  /** Tells how far the client is, if it has been told everything up to there. */
  #bookmark(): void {
    this.#pump();
    if (this.#isOver || this.#draining) return;
    const { reached } = this.#watching;
    if (reached !== undefined && !this.#isOver) this.#write(new Batch([new Bookmark(reached, false)], reached));
  }

  /** The client shall come back, to this replica or another, and then go on from here. */
  #part(): void {
    if (this.#ending.bookmarks) this.#bookmark();
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#over.resolve();
  }
}
