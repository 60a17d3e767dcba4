/**
 * Priority and fairness: each request belongs to a flow of a priority level. A level has seats, in proportion to its shares.
 * Where they are taken, its requests wait, and its flows are served in turns; what one level does not use, others borrow.
 */
import { type Call, type Clock, onAbort } from '@cluster-apiserver/base';
import { type CompiledFlowSchema, compareFlowSchemas, type FlowRequest } from './flow-schemas.ts';
import { type FairQueue, isTimeout, PriorityLevel, type PriorityLevelObject, type Waiting } from './priority-level.ts';

/** Why a request is refused with 429, as in upstream's metrics. */
export type FlowRejection = 'queue-full' | 'concurrency-limit' | 'time-out';

export class FlowRejectedError extends Error {
  override readonly name = 'FlowRejectedError';
  readonly reason: FlowRejection;
  constructor(reason: FlowRejection) {
    super(`too many requests (${reason})`);
    this.reason = reason;
  }
}

export interface Flow {
  readonly schema: CompiledFlowSchema;
  readonly level: PriorityLevel;
  /** Headers of the response that name both; undefined before the objects have been read. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

export interface FlowMeasures {
  dispatched(flow: Flow): void;
  rejected(flow: Flow, reason: FlowRejection): void;
  /** Of a request that had to wait. */
  waited(flow: Flow, ms: number, execute: boolean): void;
}

interface FlowControlOptions {
  readonly clock: Clock;
  /** Of all levels together. */
  readonly seats: number;
  /** No request waits for longer. */
  readonly waitMaxMs: number;
  readonly measures: FlowMeasures;
}

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #levels = new Map<string, PriorityLevel>();
  #flows: readonly Flow[] = [];
  /** Seats that levels lend each other, and how many of them are used. */
  #shared = { total: 0, used: 0 };

  constructor(options: FlowControlOptions) {
    this.#options = options;
  }

  /** Takes over these objects. What runs and waits stays where it is. */
  configure(schemas: readonly CompiledFlowSchema[], levels: readonly PriorityLevelObject[]): void {
    const known = new Set(levels.map(({ metadata }) => metadata.name ?? ''));
    for (const [name, level] of this.#levels)
      if (!known.has(name)) {
        level.seats = { nominal: 0, lendable: 0, borrowable: Number.POSITIVE_INFINITY };
        if (level.used === 0 && level.waiting === 0) this.#levels.delete(name);
      }
    const shares = levels.reduce((sum, { spec }) => sum + sharesOf(spec), 0);
    for (const { metadata, spec } of levels) {
      const level = this.#levelOf(metadata.name ?? '');
      level.uid = metadata.uid;
      level.isExempt = spec.type === 'Exempt';
      level.queuing = spec.limited?.limitResponse.queuing;
      level.seats = seatsOf(spec, shares === 0 ? 0 : this.#options.seats / shares);
    }
    this.#flows = schemas
      .toSorted(compareFlowSchemas)
      .flatMap((schema) => (known.has(schema.level) ? flowOf(schema, this.#levelOf(schema.level)) : []));
    this.#countShared();
    this.#dispatch();
  }

  get levels(): Iterable<PriorityLevel> {
    return this.#levels.values();
  }

  /** The catch-all matches every user that is authenticated or not, so every request has a flow. */
  classify(request: FlowRequest): Flow | undefined {
    for (const flow of this.#flows) if (flow.schema.matches(request)) return flow;
    return this.#flows.at(-1);
  }

  /** Seats for the request, at once or when its turn comes. Throws, or rejects with, FlowRejectedError. */
  acquire(flow: Flow, request: FlowRequest, seats: number, call: Call): FlowSeats | Promise<FlowSeats> {
    const { level } = flow;
    const held = new FlowSeats(this, flow, request, level.clamp(seats), call);
    const wait = held.reacquire();
    return wait ? wait.then(() => held) : held;
  }

  /** Takes the seats if there are enough, and nothing of the level waits for them. */
  tryTake(level: PriorityLevel, seats: number): boolean {
    if (level.waiting > 0 || !this.#fits(level, seats)) return false;
    this.take(level, seats);
    return true;
  }

  /** Notes that a request runs which did not have to wait: its flow has its turn later. */
  account(flow: Flow, request: FlowRequest, seats: number): FairQueue | undefined {
    const queue = flow.level.findQueue(keyOf(flow, request), true);
    if (queue) flow.level.began(queue, seats);
    return queue;
  }

  take(level: PriorityLevel, seats: number): void {
    this.#shared.used += level.sharedAt(level.used + seats) - level.sharedAt(level.used);
    level.used += seats;
  }

  free(level: PriorityLevel, seats: number): void {
    this.#shared.used += level.sharedAt(level.used - seats) - level.sharedAt(level.used);
    level.used -= seats;
    this.#dispatch();
  }

  /** Waits for its turn, before all others of its queue if it was served before; resolves when the seats are taken. */
  async wait(flow: Flow, request: FlowRequest, seats: number, call: Call, isAgain: boolean): Promise<FairQueue> {
    const { clock, waitMaxMs, measures } = this.#options;
    const { level } = flow;
    const queue = level.findQueue(keyOf(flow, request), isAgain);
    if (!queue) throw this.#refuse(flow, level.queuing ? 'queue-full' : 'concurrency-limit');
    const sinceMs = clock.monotonicMs();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry: Waiting = { seats, queue, start: resolve };
    level.enqueue(entry, isAgain);
    // At once, or the next seats would go to it.
    const giveUp = (error: unknown): void => {
      level.remove(entry, false);
      reject(error);
    };
    const cancel = clock.after(Math.max(0, Math.min(waitMaxMs, call.deadlineMs - sinceMs)), () =>
      giveUp(this.#refuse(flow, 'time-out')),
    );
    const unfollow = call.signal ? onAbort(call.signal, () => giveUp(call.signal?.reason)) : () => {};
    try {
      await promise;
    } catch (error) {
      measures.waited(flow, clock.monotonicMs() - sinceMs, false);
      throw isTimeout(error) ? this.#refuse(flow, 'time-out') : error;
    } finally {
      cancel();
      unfollow();
    }
    measures.waited(flow, clock.monotonicMs() - sinceMs, true);
    return queue;
  }

  nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  dispatched(flow: Flow): void {
    this.#options.measures.dispatched(flow);
  }

  #refuse(flow: Flow, reason: FlowRejection): FlowRejectedError {
    this.#options.measures.rejected(flow, reason);
    return new FlowRejectedError(reason);
  }

  #levelOf(name: string): PriorityLevel {
    let level = this.#levels.get(name);
    if (!level) this.#levels.set(name, (level = new PriorityLevel(name)));
    return level;
  }

  #fits(level: PriorityLevel, seats: number): boolean {
    const after = level.used + seats;
    if (after <= level.guaranteed) return true;
    if (after > level.seats.nominal + level.seats.borrowable) return false;
    return this.#shared.used + level.sharedAt(after) - level.sharedAt(level.used) <= this.#shared.total;
  }

  /** Starts what fits now: of the levels that wait, the one that uses the smallest part of its own seats comes first. */
  #dispatch(): void {
    for (;;) {
      let first: { level: PriorityLevel; entry: Waiting; part: number } | undefined;
      for (const level of this.#levels.values()) {
        if (level.waiting === 0) continue;
        const part = level.used / Math.max(1, level.seats.nominal);
        if (first && first.part <= part) continue;
        const entry = level.next();
        if (entry && this.#fits(level, entry.seats)) first = { level, entry, part };
      }
      if (!first) return;
      first.level.remove(first.entry, true);
      this.take(first.level, first.entry.seats);
      first.entry.start();
    }
  }

  #countShared(): void {
    const shared = { total: 0, used: 0 };
    for (const level of this.#levels.values()) {
      shared.total += level.seats.lendable;
      shared.used += level.sharedAt(level.used);
    }
    this.#shared = shared;
  }
}

const keyOf = ({ schema }: Flow, request: FlowRequest): string => `${schema.name}\n${schema.flowOf(request)}`;

const sharesOf = ({ limited, exempt }: PriorityLevelObject['spec']): number =>
  limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? 0;

function seatsOf(spec: PriorityLevelObject['spec'], seatsPerShare: number): PriorityLevel['seats'] {
  const { limited, exempt } = spec;
  const nominal = Math.ceil(sharesOf(spec) * seatsPerShare);
  const lendable = Math.round((nominal * (limited?.lendablePercent ?? exempt?.lendablePercent ?? 0)) / 100);
  const limit = limited?.borrowingLimitPercent;
  const borrowable = limit === undefined ? Number.POSITIVE_INFINITY : Math.round((nominal * limit) / 100);
  return { nominal, lendable, borrowable };
}

const flowOf = (schema: CompiledFlowSchema, level: PriorityLevel): Flow => ({
  schema,
  level,
  headers:
    schema.uid && level.uid
      ? { 'x-kubernetes-pf-flowschema-uid': schema.uid, 'x-kubernetes-pf-prioritylevel-uid': level.uid }
      : undefined,
});

/** The seats of one request. */
export class FlowSeats {
  readonly #control: FlowControl;
  readonly #flow: Flow;
  readonly #request: FlowRequest;
  readonly #seats: number;
  readonly #call: Call;
  #isHeld = false;
  /** It was held before. */
  #isKnown = false;
  /** The queue of its flow, if it has waited there or its level is busy. */
  #queue: FairQueue | undefined;
  #sinceMs = 0;

  constructor(control: FlowControl, flow: Flow, request: FlowRequest, seats: number, call: Call) {
    this.#control = control;
    this.#flow = flow;
    this.#request = request;
    this.#seats = seats;
    this.#call = call;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { level } = this.#flow;
    if (level.isExempt) return;
    if (this.#queue) level.ended(this.#queue, this.#seats, this.#control.nowMs() - this.#sinceMs);
    this.#queue = undefined;
    this.#control.free(level, this.#seats);
  }

  /** Not a promise if there are seats. */
  reacquire(): Promise<void> | undefined {
    if (this.#isHeld) return undefined;
    const { level } = this.#flow;
    const isFree = level.isExempt || this.#control.tryTake(level, this.#seats);
    if (isFree) {
      if (level.isBusy) this.#queue = this.#control.account(this.#flow, this.#request, this.#seats);
      this.#begin();
      return undefined;
    }
    return this.#control.wait(this.#flow, this.#request, this.#seats, this.#call, this.#isKnown).then((queue) => {
      this.#queue = queue;
      this.#begin();
    });
  }

  /** Takes the seats even if there are none. */
  forceAcquire(): void {
    if (this.#isHeld) return;
    if (!this.#flow.level.isExempt) this.#control.take(this.#flow.level, this.#seats);
    this.#begin();
  }

  #begin(): void {
    this.#isHeld = true;
    if (!this.#isKnown) this.#control.dispatched(this.#flow);
    this.#isKnown = true;
    if (this.#queue) this.#sinceMs = this.#control.nowMs();
  }
}
