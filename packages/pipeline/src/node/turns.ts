import type { Clock } from '@cluster-apiserver/base';
import type { ApiResponse } from '../exchange.ts';
import { turnMs } from './limits.ts';
import type { SocketRequest } from './socket-request.ts';

/**
 * What arrives in one turn of the event loop is worked on together at its end, and answers that are ready leave
 * together: the same code runs again and again while the processor has it at hand, and what it leads to, such as
 * writes to the store, leaves together too. Each write to a socket may have to wake whoever reads it, which costs as
 * much as all the rest of a small answer; behind the first one he is awake.
 *
 * A turn ends after some milliseconds. What is left waits for the next one, in which connections take turns: a client
 * with a thousand requests does not stand before a health check.
 */
export class Turns {
  readonly #arrived = new FairQueue<SocketRequest>();
  readonly #ready = new FairQueue<{ readonly request: SocketRequest; readonly response: ApiResponse }>();
  readonly #clock: Clock;
  readonly #serve: (request: SocketRequest) => void;
  #scheduled = false;

  /** `serve` must not throw. */
  constructor(clock: Clock, serve: (request: SocketRequest) => void) {
    this.#clock = clock;
    this.#serve = serve;
  }

  serveSoon(request: SocketRequest): void {
    this.#arrived.push(request.connection, request);
    this.#schedule();
  }

  answerSoon(request: SocketRequest, response: ApiResponse): void {
    this.#ready.push(request.connection, { request, response });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#clock.soon(() => this.#work());
    this.#scheduled = true;
  }

  #work(): void {
    try {
      this.#forOneSlice(this.#arrived, this.#serve);
      this.#forOneSlice(this.#ready, ({ request, response }) => request.answer(response));
    } finally {
      this.#scheduled = false;
      if (this.#arrived.size > 0 || this.#ready.size > 0) this.#schedule();
    }
  }

  #forOneSlice<T>(queue: FairQueue<T>, act: (item: T) => void): void {
    if (queue.size === 0) return;
    const untilMs = this.#clock.monotonicMs() + turnMs;
    // What comes up meanwhile belongs to the next turn.
    for (let count = queue.size; count > 0; count--) {
      act(queue.shift() as T); // counted
      if (count > 1 && this.#clock.monotonicMs() >= untilMs) return;
    }
  }
}

/** Each owner's items in their order, and of several owners one item at a time. */
class FairQueue<T> {
  readonly #byOwner = new Map<object, T[]>();
  size = 0;

  push(owner: object, item: T): void {
    const items = this.#byOwner.get(owner);
    if (items) items.push(item);
    else this.#byOwner.set(owner, [item]);
    this.size += 1;
  }

  shift(): T | undefined {
    const [next] = this.#byOwner;
    if (!next) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.size -= 1;
    this.#byOwner.delete(owner);
    if (items.length > 0) this.#byOwner.set(owner, items);
    return item;
  }
}
