import type { Clock, Random } from '@cluster-apiserver/base';
import { badRequest, type FieldSelector } from '@cluster-apiserver/model';
import { Batch, Bookmark, type Resource, type Watching, watch } from '@cluster-apiserver/registry';
import { type Handler, type Sink, StalledClientError } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateWatch } from '../encoding/negotiate.ts';
import { type Frames, createFrameCache } from '../encoding/watch-frames.ts';
import { readListParameters } from '../query-parameters.ts';
import { readBoolean, type RequestInfo } from '../request-info.ts';
import { toStatusError, type ReportFault } from '../stages/error-responses.ts';
import { warningHeaders } from '../warnings.ts';
import type { OpenWatches, WatchStream } from './open-watches.ts';

export interface WatchLimits {
  readonly clock: Clock;
  readonly random: Random;
  /** A watch without timeoutSeconds lasts this long and up to twice as long, so that watches do not all end together. */
  readonly minRequestTimeoutMs: number;
  readonly openWatches: OpenWatches;
  readonly measures: WatchMeasures;
  /** Called with an internal error that ended a watch, which only the stream itself can tell its client. */
  readonly report: ReportFault;
}

/** What the server counts of its watches. */
export interface WatchMeasures {
  began(watched: Watched): OpenWatchMeasures;
}

/** What the server counts of one watch. */
export interface OpenWatchMeasures {
  /** So many events were written, of so many bytes together. */
  sent(events: number, bytes: number): void;
  /** The client read nothing for too long, and the watch was cut off. */
  stalled(): void;
  ended(): void;
}

export interface Watched {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly scope: 'cluster' | 'namespace' | 'resource';
}

/** What may wait for a client that reads slowly. More of it is left where it is until this has gone. */
const backlogBytesMax = 32 * 1024;

/**
 * The longest that a client gets by timeoutSeconds. Its credential and its rights are looked at when a watch begins, so
 * a watch has to begin again some day; kube-apiserver has no such bound.
 */
const durationMaxMs = 24 * 60 * 60 * 1000;

/** Often enough that a client of a quiet watch comes back with a version that is still kept. */
const bookmarkIntervalMs = 60_000;

export const watchHandler = (resource: Resource, limits: WatchLimits): Handler<AuthenticatedContext> => {
  const framesIn = createFrameCache(resource);
  return async (context) => {
    const { isWebSocket: webSocket } = context.request;
    const frames = framesIn(negotiateWatch(context, resource.served), webSocket ? 'messages' : 'stream');
    const { query, resource: asked } = context.info;
    const options = readListParameters(resource, context);
    const allowWatchBookmarks = readBoolean(query, 'allowWatchBookmarks') ?? false;
    requireSameName(asked?.name, options.fields);
    const release = limits.openWatches.acquire(context.user);
    const measures = limits.measures.began(describeWatch(resource, context.info));
    context.request.onEnd(() => {
      release();
      measures.ended();
    });
    const watching = await watch(resource, { ...options, name: asked?.name, allowWatchBookmarks }, context.call);
    const ending = {
      clock: limits.clock,
      durationMs: durationMs(options.timeoutSeconds, limits),
      bookmarks: allowWatchBookmarks,
      openWatches: limits.openWatches,
      measures,
      fault: (error: unknown) => limits.report(error, context),
      caughtUp: beginInitialEventsSpan(context),
    };
    return {
      status: webSocket ? 101 : 200,
      headers: {
        'audit-id': context.auditId,
        'cache-control': 'no-cache, private',
        'content-type': frames.contentType,
        ...(context.warnings.size > 0 && { warning: warningHeaders(context.warnings) }),
      },
      body: { stream: (sink) => new Stream(watching, sink, frames, ending).run() },
    };
  };
};

/** The trace of a watch ends with its initial events, since a watch may last for hours. */
function beginInitialEventsSpan({ request, call, trace }: AuthenticatedContext): (() => void) | undefined {
  const span = call.trace?.child('initial events');
  if (!trace || !span) return undefined;
  const end = (): void => {
    span.end();
    trace.end();
  };
  request.onEnd(end);
  return end;
}

const describeWatch = ({ served: { group, version, plural } }: Resource, { resource }: RequestInfo): Watched => ({
  group,
  version,
  resource: plural,
  scope: resource?.name !== undefined ? 'resource' : resource?.isInNamespace ? 'namespace' : 'cluster',
});

/** A watch path that ends in a name means the one object of that name; a selector for another would select nothing. */
function requireSameName(name: string | undefined, fields: FieldSelector | undefined): void {
  if (name === undefined) return;
  const others = fields?.terms.some((term) => term.field === 'metadata.name' && term.equal && term.value !== name);
  if (others) throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

/** A negative timeoutSeconds ends a watch at once, as in kube-apiserver; zero is none. */
const durationMs = (timeoutSeconds: number | undefined, { minRequestTimeoutMs, random }: WatchLimits): number =>
  timeoutSeconds
    ? Math.min(Math.max(timeoutSeconds, 0) * 1000, durationMaxMs)
    : minRequestTimeoutMs + random.below(minRequestTimeoutMs);

interface StreamOptions {
  readonly clock: Clock;
  readonly durationMs: number;
  readonly bookmarks: boolean;
  readonly openWatches: OpenWatches;
  readonly measures: OpenWatchMeasures;
  readonly fault: (error: unknown) => void;
  /** Called once, when all that was there when the watch began has been written. */
  readonly caughtUp: (() => void) | undefined;
}

/** Takes from a watch what there is, as fast as its client reads, until one of them or the time is at its end. */
class Stream implements WatchStream {
  readonly #watching: Watching;
  readonly #sink: Sink;
  readonly #frames: Frames;
  readonly #ending: StreamOptions;
  readonly #over = Promise.withResolvers<void>();
  #writtenBytes = 0;
  #begun = false;
  /** Why the stream is cut off instead of ended. */
  #cutBy: Error | undefined;
  #isOver = false;
  #draining = false;
  #caughtUp: (() => void) | undefined;
  #giveUpDraining: (() => void) | undefined;
  #cancelBookmark: (() => void) | undefined;

  constructor(watching: Watching, sink: Sink, frames: Frames, ending: StreamOptions) {
    this.#watching = watching;
    this.#sink = sink;
    this.#frames = frames;
    this.#ending = ending;
    this.#caughtUp = ending.caughtUp;
  }

  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  get backlogBytes(): number {
    return this.#sink.backlogBytes;
  }

  async run(): Promise<void> {
    const { clock, durationMs, bookmarks, openWatches } = this.#ending;
    const unfollow = openWatches.track(this);
    const part = this.#guarded(() => this.#part());
    const gone = (): void => this.#end();
    const cancel = clock.after(durationMs, part);
    try {
      this.#sink.signal.addEventListener('abort', gone, { once: true });
      this.#sink.draining.addEventListener('abort', part, { once: true });
      if (bookmarks) this.#bookmarkLater();
      this.#pump();
      if (this.#sink.signal.aborted) this.#end();
      else if (this.#sink.draining.aborted) part();
      await this.#over.promise;
    } finally {
      cancel();
      this.#cancelBookmark?.();
      this.#sink.draining.removeEventListener('abort', part);
      this.#watching.close();
      // The stream ends behind what was written: until then it is still one that its client has to read.
      if (!this.#cutBy) await this.#drained();
      unfollow();
    }
    if (this.#cutBy) throw this.#cutBy;
  }

  cutOff(): void {
    this.#cutOff(new StalledClientError('the client of a watch stopped reading'));
    this.#guarded(() => this.#ending.measures.stalled())();
  }

  /** Ends the stream so that its client cannot take what it has for all. */
  #cutOff(error: Error): void {
    this.#cutBy ??= error;
    this.#giveUpDraining?.();
    this.#end();
  }

  /** What a timer, a signal or a channel calls back. An exception there would end the process, and not this stream. */
  #guarded(act: () => void): () => void {
    return () => {
      try {
        act();
      } catch (error) {
        this.#cutOff(error instanceof Error ? error : new Error('a watch failed', { cause: error }));
      }
    };
  }

  /** Resolves when nothing waits any more, or nobody waits for it. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#giveUpDraining = resolve;
      void this.#sink.drained().then(resolve);
    });
  }

  readonly #pump = this.#guarded(() => {
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
      const status = toStatusError(error);
      if (status.code === 500) this.#ending.fault(error);
      this.#send(this.#frames.error(status));
      return this.#end();
    }
    this.#caughtUp?.();
    this.#caughtUp = undefined;
    if (this.#watching.ended) this.#end();
    else this.#watching.wait(this.#pump);
  });

  #write(batch: Batch): void {
    const write = this.#begun ? this.#frames.later : this.#frames.first;
    this.#begun = true;
    const bytes = batch.in(write, write);
    this.#ending.measures.sent(batch.events.length, bytes.length);
    this.#send(bytes);
  }

  #send(bytes: Buffer): void {
    this.#writtenBytes += bytes.length;
    this.#sink.write(bytes);
  }

  #drain(): void {
    this.#draining = true;
    void this.#sink.drained().then(() => {
      this.#draining = false;
      this.#pump();
    });
  }

  #bookmarkLater(): void {
    const bookmark = this.#guarded(() => {
      this.#bookmark();
      this.#bookmarkLater();
    });
    this.#cancelBookmark = this.#ending.clock.after(bookmarkIntervalMs, bookmark);
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
