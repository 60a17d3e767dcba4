import type { Clock } from '@cluster-apiserver/base';
import type { ApiResponse } from '../exchange.ts';
import { turnMs } from './limits.ts';
import type { SocketRequest } from './request/socket-request.ts';

/**
 * What arrives in one turn of the event loop is worked on together at its end, and answers that are ready leave
 * together: the same code runs again and again while the processor has it at hand, and what it leads to, such as
 * writes to the store, leaves together too. Each write to a socket may have to wake whoever reads it, which costs as
 * much as all the rest of a small answer; behind the first one he is awake.
 *
 * A turn ends after some milliseconds. What is left waits for the next one, in which connections take turns: a client
 * with a thousand requests does not stand before a health check.
 */
export class RequestScheduler {
  readonly #arrived = new FairQueue<SocketRequest>((request) => request.connection);
  readonly #ready = new FairQueue<PendingResponse>(({ request }) => request.connection);
  readonly #clock: Clock;
  readonly #serve: (request: SocketRequest) => void;
  #scheduled = false;

  /** `serve` must not throw. */
  constructor(clock: Clock, serve: (request: SocketRequest) => void) {
    this.#clock = clock;
    this.#serve = serve;
  }

  scheduleRequest(request: SocketRequest): void {
    this.#arrived.push(request);
    this.#schedule();
  }

  scheduleResponse(request: SocketRequest, response: ApiResponse): void {
    this.#ready.push({ request, response });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#clock.soon(() => this.#work());
    this.#scheduled = true;
  }

  #work(): void {
    try {
      this.#workOffSlice(this.#arrived, this.#serve);
      this.#workOffSlice(this.#ready, ({ request, response }) => request.respond(response));
    } finally {
      this.#scheduled = false;
      if (this.#arrived.size > 0 || this.#ready.size > 0) this.#schedule();
    }
  }

  #workOffSlice<T>(queue: FairQueue<T>, act: (item: T) => void): void {
    if (queue.size === 0) return;
    const untilMs = this.#clock.monotonicMs() + turnMs;
    // What comes up meanwhile belongs to the next turn.
    for (let count = queue.size; count > 0; count--) {
      act(queue.shift() as T); // counted
      if (count > 1 && this.#clock.monotonicMs() >= untilMs) return queue.alternateOwners();
    }
  }
}

interface PendingResponse {
  readonly request: SocketRequest;
  readonly response: ApiResponse;
}

/**
 * Each owner's items in their order. Most turns are done at once, in the order in which things came. Once `share` is
 * called, owners take turns with one item each, until the queue is empty.
 */
class FairQueue<T> {
  readonly #ownerOf: (item: T) => object;
  readonly #byOwner = new Map<object, T[]>();
  #inOrder: T[] = [];
  #at = 0;
  size = 0;

  constructor(ownerOf: (item: T) => object) {
    this.#ownerOf = ownerOf;
  }

  push(item: T): void {
    this.size += 1;
    if (this.#byOwner.size > 0) this.#pushShared(item);
    else this.#inOrder.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    this.size -= 1;
    if (this.#byOwner.size > 0) return this.#shiftShared();
    const item = this.#inOrder[this.#at++];
    if (this.size === 0) this.#clear();
    return item;
  }

  alternateOwners(): void {
    const left = this.#inOrder.slice(this.#at);
    this.#clear();
    for (const item of left) this.#pushShared(item);
  }

  #clear(): void {
    this.#inOrder = [];
    this.#at = 0;
  }

  #pushShared(item: T): void {
    const owner = this.#ownerOf(item);
    const items = this.#byOwner.get(owner);
    if (items) items.push(item);
    else this.#byOwner.set(owner, [item]);
  }

  #shiftShared(): T | undefined {
    const [next] = this.#byOwner;
    if (!next) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.#byOwner.delete(owner);
    if (items.length > 0) this.#byOwner.set(owner, items);
    return item;
  }
}
