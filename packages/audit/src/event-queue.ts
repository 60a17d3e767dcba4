import { chain, type Clock, requireValue } from '@cluster-apiserver/base';

export interface EventQueueOptions {
  readonly clock: Clock;
  /** Maximum number of events that wait or are being sent. */
  readonly eventsMax: number;
  readonly charactersMax: number;
  readonly batch: BatchOptions;
  /**
   * Iterations of the event loop that a due batch waits for more events: microseconds on an idle server, and enough under
   * load to collect many events.
   */
  readonly iterations: number;
  /** Limits batches per second; undefined for no limit. */
  readonly throttle: ThrottleOptions | undefined;
  /** Maximum number of concurrent sends. */
  readonly sendsMax: number;
  send(events: readonly string[]): Promise<void>;
  /** Called with the number of lost events. */
  readonly lost: (error: unknown, events: number) => void;
  /** Called for each batch that the backend accepted. */
  readonly sent: () => void;
}

export interface BatchOptions {
  /** A batch is sent as soon as this number of events waits, */
  readonly dueEvents: number;
  /** or when the first of them has waited this long. 0 sends at once. */
  readonly waitMs: number;
  readonly eventsMax: number;
  readonly charactersMax: number;
}

export interface ThrottleOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Whether full batches bypass the limit. */
  readonly exceptFull: boolean;
}

interface Queued {
  readonly text: string;
  /** Called once, when the event was sent or lost. */
  done: ((isSent: boolean) => void) | undefined;
  readonly sinceMs: number;
}

interface RoomWaiter {
  readonly characters: number;
  /** Called once. */
  readonly done: (hasRoom: boolean) => void;
}

/** Maximum time to wait for room in the queue. */
const roomMsMax = 10_000;
/** Maximum time that a request waits for its event, if the backend is stuck. */
const blockedMsMax = 30_000;
const blockedCheckMs = 1_000;

/** A bounded queue that sends events to a backend in batches. */
export class EventQueue {
  readonly #options: EventQueueOptions;
  #waiting: Queued[] = [];
  /** Number of events that wait or are being sent. */
  #events = 0;
  /** Of the events, and those that are reserved. */
  #characters = 0;
  /** In the order of their calls. */
  readonly #roomWaiters = new Set<RoomWaiter>();
  #waitingCharacters = 0;
  #sends = 0;
  #isOverdue = false;
  #isScheduled = false;
  #isClosing = false;
  #isClosed = false;
  #cancelWait: (() => void) | undefined;
  #cancelThrottle: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;
  /** Events with waiting requests, oldest first. */
  readonly #blocked = new Set<Queued>();
  #tokens: number;
  #tokensAtMs: number;
  readonly #empty = Promise.withResolvers<void>();

  constructor(options: EventQueueOptions) {
    this.#options = options;
    this.#tokens = options.throttle?.burst ?? 0;
    this.#tokensAtMs = options.clock.monotonicMs();
  }

  get events(): number {
    return this.#events;
  }

  /** Returns false if the queue is full. */
  add(text: string): boolean {
    return this.#hasRoom(text.length) && this.addAlways(text);
  }

  /**
   * Adds an event of a request that was let in when there was room: so the events beyond the limit are as many as such
   * requests. Returns false if the queue is closed.
   */
  addAlways(text: string, done?: (isSent: boolean) => void): boolean {
    const { clock, batch } = this.#options;
    if (this.#isClosed) return false;
    const queued = { text, done, sinceMs: done ? clock.monotonicMs() : 0 };
    this.#waiting.push(queued);
    this.#events++;
    this.#characters += text.length;
    this.#waitingCharacters += text.length;
    if (done) this.#block(queued);
    if (this.#waiting.length >= batch.dueEvents || batch.waitMs === 0) this.#scheduleSends();
    else
      this.#cancelWait ??= clock.after(batch.waitMs, () => {
        this.#cancelWait = undefined;
        this.#isOverdue = true;
        this.#sendDue();
      });
    return true;
  }

  /** Waits until the queue has room, after all who wait already. False if that takes too long. */
  waitForRoom(): boolean | Promise<boolean> {
    return this.#waitFor(0);
  }

  /**
   * Takes room for an event that is not serialized yet. The returned function gives it back. Undefined if there is none in
   * time.
   */
  reserve(characters: number): (() => void) | undefined | Promise<(() => void) | undefined> {
    const release = (): void => {
      this.#characters -= characters;
      this.#admitWaiters();
    };
    return chain(this.#waitFor(characters), (hasRoom) => (hasRoom ? release : undefined));
  }

  #waitFor(characters: number): boolean | Promise<boolean> {
    if (this.#roomWaiters.size === 0 && this.#hasRoom(characters)) {
      this.#characters += characters;
      return true;
    }
    if (this.#isClosed || characters > this.#options.charactersMax) return false;
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(roomMsMax, () => waiter.done(false));
      const waiter: RoomWaiter = {
        characters,
        done: (hasRoom) => {
          cancel();
          this.#roomWaiters.delete(waiter);
          if (hasRoom) this.#characters += characters;
          resolve(hasRoom);
          // Those behind it may need less.
          if (!hasRoom) this.#admitWaiters();
        },
      };
      this.#roomWaiters.add(waiter);
    });
  }

  #admitWaiters(): void {
    for (const waiter of this.#roomWaiters) {
      if (!this.#hasRoom(waiter.characters)) return;
      waiter.done(true);
    }
  }

  #hasRoom(characters: number): boolean {
    const { eventsMax, charactersMax } = this.#options;
    return !this.#isClosed && this.#events < eventsMax && this.#characters + characters <= charactersMax;
  }

  /** Flushes the queue without throttling. Events that are not sent in time are lost. */
  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#cancelWait?.();
    this.#sendDue();
    const cancel = this.#options.clock.after(withinMs, () => this.#empty.resolve());
    if (this.#events > 0) await this.#empty.promise;
    cancel();
    this.#isClosed = true;
    this.#cancelWait?.();
    this.#cancelThrottle?.();
    this.#cancelCheck?.();
    for (const queued of this.#blocked) finish(queued, false);
    for (const waiter of this.#roomWaiters) waiter.done(false);
    if (this.#events > 0) this.#options.lost(new Error('the server stopped before they were sent'), this.#events);
  }

  #scheduleSends(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#waitIterations(this.#options.iterations);
  }

  #waitIterations(iterations: number): void {
    this.#options.clock.soon(() => {
      if (iterations > 1) return this.#waitIterations(iterations - 1);
      this.#isScheduled = false;
      this.#sendDue();
    });
  }

  #sendDue(): void {
    const { batch, sendsMax } = this.#options;
    while (this.#waiting.length > 0 && this.#sends < sendsMax && !this.#isClosed) {
      const isDue = this.#isOverdue || this.#isClosing || batch.waitMs === 0 || this.#waiting.length >= batch.dueEvents;
      if (!isDue || !this.#takeToken()) return;
      this.#sendBatch(this.#takeBatch());
    }
  }

  #takeBatch(): Queued[] {
    const { eventsMax, charactersMax } = this.#options.batch;
    let count = 0;
    for (let characters = 0; count < Math.min(this.#waiting.length, eventsMax); count++) {
      const { length } = requireValue(this.#waiting[count]).text;
      characters += length;
      if (count > 0 && characters > charactersMax) break;
      this.#waitingCharacters -= length;
    }
    const batch = this.#waiting.splice(0, count);
    if (this.#waiting.length === 0) {
      this.#isOverdue = false;
      this.#cancelWait?.();
      this.#cancelWait = undefined;
    }
    return batch;
  }

  #sendBatch(batch: readonly Queued[]): void {
    this.#sends++;
    const ended = (isSent: boolean): void => {
      this.#sends--;
      this.#events -= batch.length;
      for (const queued of batch) {
        this.#characters -= queued.text.length;
        this.#blocked.delete(queued);
        finish(queued, isSent);
      }
      this.#admitWaiters();
      if (this.#isClosing) this.#sendDue();
      else if (this.#waiting.length > 0) this.#scheduleSends();
      if (this.#events === 0 && this.#isClosing) this.#empty.resolve();
    };
    this.#options.send(batch.map(({ text }) => text)).then(
      () => {
        this.#options.sent();
        ended(true);
      },
      (error: unknown) => {
        // Events lost at closing are already counted.
        if (!this.#isClosed) this.#options.lost(error, batch.length);
        ended(false);
      },
    );
  }

  #takeToken(): boolean {
    const { batch, clock, throttle } = this.#options;
    if (!throttle || this.#isClosing) return true;
    const isFull = this.#waiting.length >= batch.eventsMax || this.#waitingCharacters >= batch.charactersMax;
    if (isFull && throttle.exceptFull) return true;
    const nowMs = clock.monotonicMs();
    const earned = ((nowMs - this.#tokensAtMs) / 1_000) * throttle.perSecond;
    this.#tokens = Math.min(throttle.burst, this.#tokens + earned);
    this.#tokensAtMs = nowMs;
    if (this.#tokens >= 1) {
      this.#tokens--;
      return true;
    }
    this.#cancelThrottle ??= clock.after(Math.ceil(((1 - this.#tokens) / throttle.perSecond) * 1_000), () => {
      this.#cancelThrottle = undefined;
      this.#sendDue();
    });
    return false;
  }

  #block(queued: Queued): void {
    this.#blocked.add(queued);
    this.#cancelCheck ??= this.#options.clock.after(blockedCheckMs, () => this.#releaseBlocked());
  }

  #releaseBlocked(): void {
    const { clock } = this.#options;
    this.#cancelCheck = undefined;
    const endMs = clock.monotonicMs() - blockedMsMax;
    for (const queued of this.#blocked) {
      if (queued.sinceMs > endMs) break;
      this.#blocked.delete(queued);
      finish(queued, false);
    }
    if (this.#blocked.size > 0) this.#cancelCheck = clock.after(blockedCheckMs, () => this.#releaseBlocked());
  }
}

function finish(queued: Queued, isSent: boolean): void {
  const { done } = queued;
  queued.done = undefined;
  done?.(isSent);
}
