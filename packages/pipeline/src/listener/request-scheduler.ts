import { type Clock, requireValue } from '@cluster-apiserver/base';
import type { ApiResponse } from '../exchange.ts';
import { iterationMs, smallestShare, turnMs } from './limits.ts';
import type { SocketRequest } from './request/socket-request.ts';

/**
 * Processes requests that arrive in one iteration of the event loop together at its end, and writes ready responses
 * together. This keeps code in the processor's caches and batches writes to etcd and to sockets, whose wake-ups cost as
 * much as the rest of a small response.
 *
 * Each batch takes two milliseconds at most, and less while iterations are long. The rest waits for the next iteration, in
 * which connections alternate: a client with a thousand requests does not delay a health check.
 */
export class RequestScheduler {
  readonly #arrived = new FairQueue<SocketRequest>((request) => request.connection);
  readonly #ready = new FairQueue<PendingResponse>(({ request }) => request.connection);
  readonly #clock: Clock;
  readonly #serve: (request: SocketRequest) => void;
  readonly #pace = new IterationPace();
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
      this.#pace.begin(this.#clock.monotonicMs());
      this.#workOffSlice(this.#arrived, this.#serve);
      this.#workOffSlice(this.#ready, ({ request, response }) => request.respond(response));
    } finally {
      this.#scheduled = false;
      if (this.#arrived.size > 0 || this.#ready.size > 0) this.#schedule();
      else this.#pace.rest();
    }
  }

  #workOffSlice<T>(queue: FairQueue<T>, act: (item: T) => void): void {
    if (queue.size === 0) return;
    if (queue.size > orderedItemsMax) queue.alternateOwners();
    const untilMs = this.#clock.monotonicMs() + turnMs * this.#pace.share;
    // Items that are added meanwhile wait for the next iteration.
    for (let count = queue.size; count > 0; count--) {
      act(requireValue(queue.shift(), 'the queue has counted its items'));
      if (count > 1 && this.#clock.monotonicMs() >= untilMs) return queue.alternateOwners();
    }
  }
}

/** A longer queue is perhaps not emptied in its first iteration, so its clients alternate from the beginning. */
const orderedItemsMax = 32;

/**
 * Shortens the batches while iterations of the event loop take long: what requests cause after their first wait is not
 * counted in their batch, and everything else in the process takes part in the same iterations.
 */
class IterationPace {
  /** The share of a batch's usual duration. */
  share = 1;
  /** When the batch before began, if more was waiting after it: the time since then has not been idle. */
  #beganMs: number | undefined;

  begin(nowMs: number): void {
    if (this.#beganMs !== undefined) {
      const wanted = (this.share * iterationMs) / (nowMs - this.#beganMs);
      this.share = Math.min(1, Math.max(smallestShare, wanted));
    }
    this.#beganMs = nowMs;
  }

  /** Nothing is left behind. */
  rest(): void {
    this.#beganMs = undefined;
    this.share = 1;
  }
}

interface PendingResponse {
  readonly request: SocketRequest;
  readonly response: ApiResponse;
}

/**
 * A queue in order of arrival, which is usually short and emptied at once. After `alternateOwners`, owners alternate with one
 * item each until the queue is empty; and every second item is of an owner with few of them, so that a client with some
 * requests does not wait for one of each client with hundreds.
 */
class FairQueue<T> {
  readonly #ownerOf: (item: T) => object;
  readonly #byOwner = new Map<object, T[]>();
  /** The owners of few items, in the same order. */
  readonly #modest = new Map<object, T[]>();
  #isModestNext = true;
  #inOrder: T[] = [];
  #at = 0;
  size = 0;

  constructor(ownerOf: (item: T) => object) {
    this.#ownerOf = ownerOf;
  }

  /** Items were left behind in an iteration, and some still wait. */
  get #isAlternating(): boolean {
    return this.#byOwner.size > 0;
  }

  push(item: T): void {
    this.size += 1;
    if (this.#isAlternating) this.#pushShared(item);
    else this.#inOrder.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    this.size -= 1;
    if (this.#isAlternating) return this.#shiftShared();
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
    this.#sort(owner, items?.length ?? 1);
  }

  #sort(owner: object, count: number): void {
    if (count > modestItemsMax) this.#modest.delete(owner);
    else if (!this.#modest.has(owner)) this.#modest.set(owner, requireValue(this.#byOwner.get(owner)));
  }

  #shiftShared(): T | undefined {
    const [next] = this.#isModestNext && this.#modest.size > 0 ? this.#modest : this.#byOwner;
    this.#isModestNext = !this.#isModestNext;
    if (!next) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.#byOwner.delete(owner);
    this.#modest.delete(owner);
    if (items.length > 0) {
      this.#byOwner.set(owner, items);
      this.#sort(owner, items.length);
    }
    return item;
  }
}

/** An owner of at most so many items counts as one with few. */
const modestItemsMax = 8;
