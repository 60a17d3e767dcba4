/** The requests of one priority level: those that run, and the queues of those that wait. */
import { hash } from 'node:crypto';
import { seededRandom } from '@cluster-apiserver/base';
import type { FlowRequest } from './flow-schemas.ts';
import { RefusalPace } from './refusal-pace.ts';

/** The parts of a PriorityLevelConfiguration that count. */
export interface PriorityLevelObject {
  readonly metadata: { readonly name?: string; readonly uid?: string };
  readonly spec: {
    readonly type: string;
    readonly limited?: {
      readonly nominalConcurrencyShares?: number;
      readonly lendablePercent?: number;
      readonly borrowingLimitPercent?: number;
      readonly limitResponse: { readonly type: string; readonly queuing?: Queuing };
    };
    readonly exempt?: { readonly nominalConcurrencyShares?: number; readonly lendablePercent?: number };
  };
}

interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

/** Seats of a level, from its shares. */
export interface LevelSeats {
  readonly nominal: number;
  readonly lendable: number;
  /** How many it may have besides its own. */
  readonly borrowable: number;
}

/** A request that waits for seats. */
export interface Waiting {
  readonly seats: number;
  readonly queue: FairQueue;
  readonly request: FlowRequest;
  /** The names of its FlowSchema, and of its flow there. */
  readonly schema: string;
  readonly flow: string;
  readonly sinceMs: number;
  start(): void;
}

/**
 * Requests of flows that were dealt to the same place. Its virtual time is what its requests have used so far, in seats times
 * milliseconds: the queue that is behind all others is served next.
 */
export interface FairQueue {
  readonly index: number;
  readonly waiting: Waiting[];
  /** Requests that run, and their seats. */
  executing: number;
  seats: number;
  virtualMs: number;
}

/** How long a request is assumed to take until it has ended; then the virtual time is corrected. */
const assumedMs = 3;

/** So that flows of short requests take turns, too. */
const shortestMs = 1;

export class PriorityLevel {
  readonly name: string;
  uid: string | undefined;
  isExempt = false;
  /** There is no object of this name any more; what runs and waits ends. */
  isRemoved = false;
  seats: LevelSeats = { nominal: 0, lendable: 0, borrowable: 0 };
  /** Undefined if requests are refused at once. */
  queuing: Queuing | undefined;
  /** Seats of the requests that run. */
  used = 0;
  /** Requests that run, and those that wait. */
  executing = 0;
  waiting = 0;
  /** Of all requests so far. */
  readonly counts = { dispatched: 0, rejected: 0, timedOut: 0, cancelled: 0 };
  readonly queues = new Map<number, FairQueue>();
  readonly refusals = new RefusalPace();
  /** Of the queue that was served last. A queue that was empty begins here. */
  #virtualMs = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Seats that no other level can have borrowed. */
  get guaranteed(): number {
    return this.seats.nominal - this.seats.lendable;
  }

  /** Seats that it may have in all. */
  get limit(): number {
    return this.seats.nominal + this.seats.borrowable;
  }

  /** What it takes of the seats that levels lend each other, its own ones included, if it uses so many. */
  sharedAt(used: number): number {
    return Math.max(0, used - this.guaranteed);
  }

  /** No request is wider than the whole level, or it would wait for ever. */
  clamp(seats: number): number {
    return Math.max(1, Math.min(seats, this.seats.nominal));
  }

  /** The queue for a flow: the shortest of its hand. Undefined if that is full, unless it may be, or if there are none. */
  findQueue(flow: string, mayBeFull: boolean): FairQueue | undefined {
    const { queuing } = this;
    if (!queuing) return undefined;
    let shortest: FairQueue | undefined;
    let shortestIndex = -1;
    for (const index of dealHand(flow, queuing.queues, queuing.handSize)) {
      const queue = this.queues.get(index);
      if (!queue) {
        shortestIndex = index;
        shortest = undefined;
        break;
      }
      if (!shortest || sizeOf(queue) < sizeOf(shortest)) [shortest, shortestIndex] = [queue, index];
    }
    if (shortest) return mayBeFull || shortest.waiting.length < queuing.queueLengthLimit ? shortest : undefined;
    const queue: FairQueue = { index: shortestIndex, waiting: [], executing: 0, seats: 0, virtualMs: this.#virtualMs };
    this.queues.set(shortestIndex, queue);
    return queue;
  }

  /** `isFirst` for a request that was served before, and waits for its next part. */
  enqueue(entry: Waiting, isFirst: boolean): void {
    const { queue } = entry;
    if (queue.waiting.length === 0 && queue.executing === 0)
      queue.virtualMs = Math.max(queue.virtualMs, this.#virtualMs);
    if (isFirst) queue.waiting.unshift(entry);
    else queue.waiting.push(entry);
    this.waiting++;
  }

  /** Whose turn it is. */
  next(): Waiting | undefined {
    let first: FairQueue | undefined;
    for (const queue of this.queues.values())
      if (queue.waiting.length > 0 && (!first || queue.virtualMs < first.virtualMs)) first = queue;
    return first?.waiting[0];
  }

  /** It runs now, or does not wait any more. */
  remove(entry: Waiting, isStarted: boolean): void {
    const { queue } = entry;
    const at = queue.waiting.indexOf(entry);
    if (at < 0) return;
    queue.waiting.splice(at, 1);
    this.waiting--;
    if (isStarted) this.began(queue, entry.seats);
    this.#forgetIfEmpty(queue);
  }

  /** Most of its own seats are used: from here on it matters which flows use them. */
  get isBusy(): boolean {
    return !this.isExempt && this.used * 2 > this.seats.nominal;
  }

  /** A request of the queue runs now. */
  began(queue: FairQueue, seats: number): void {
    this.#virtualMs = Math.max(this.#virtualMs, queue.virtualMs);
    queue.executing++;
    queue.seats += seats;
    queue.virtualMs += seats * assumedMs;
  }

  /** A request of the queue has ended. */
  ended(queue: FairQueue, seats: number, tookMs: number): void {
    queue.executing--;
    queue.seats -= seats;
    queue.virtualMs += seats * (Math.max(tookMs, shortestMs) - assumedMs);
    this.#forgetIfEmpty(queue);
  }

  #forgetIfEmpty(queue: FairQueue): void {
    if (queue.waiting.length === 0 && queue.executing === 0) this.queues.delete(queue.index);
    if (this.queues.size === 0) this.#virtualMs = 0;
  }
}

const sizeOf = ({ waiting, executing }: FairQueue): number => waiting.length + executing;

/** Different queues for a flow, always the same ones. */
function dealHand(flow: string, queues: number, handSize: number): number[] {
  const random = seededRandom(Number.parseInt(hash('sha256', flow).slice(0, seedDigits), 16));
  const hand: number[] = [];
  while (hand.length < Math.min(handSize, queues)) {
    let card = random.below(queues - hand.length);
    // Counts among the queues that have not been dealt yet.
    for (const earlier of hand.toSorted((one, other) => one - other)) if (card >= earlier) card++;
    hand.push(card);
  }
  return hand;
}

/** The seed has 32 bits. */
const seedDigits = 8;
