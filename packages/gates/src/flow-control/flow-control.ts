/**
 * Priority and fairness: each request belongs to a flow of a priority level. A level has seats, in proportion to its shares.
 * Where they are taken, its requests wait, and its flows are served in turns; what one level does not use, others borrow.
 */
import {
  type Call,
  type Clock,
  DeadlineExceededError,
  inSpan,
  requireValue,
  trackLatency,
} from '@cluster-apiserver/base';
import { type CompiledFlowSchema, compareFlowSchemas, type FlowRequest } from './flow-schemas.ts';
import { type FairQueue, PriorityLevel, type PriorityLevelObject } from './priority-level.ts';
import { SeatPool } from './seat-pool.ts';

/** Why a request is refused with 429, as in upstream's metrics. */
export type FlowRejection = 'queue-full' | 'concurrency-limit' | 'time-out';

export class FlowRejectedError extends Error {
  override readonly name = 'FlowRejectedError';
  constructor(reason: FlowRejection) {
    super(`too many requests (${reason})`);
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
  readonly #seats: number;
  readonly #pool: SeatPool;
  readonly #measures: FlowMeasures;
  #flows: readonly Flow[] = [];

  constructor({ clock, seats, waitMaxMs, measures }: FlowControlOptions) {
    this.#seats = seats;
    this.#pool = new SeatPool(clock, waitMaxMs);
    this.#measures = measures;
  }

  /** Takes over these objects. What runs and waits stays where it is. */
  configure(schemas: readonly CompiledFlowSchema[], levels: readonly PriorityLevelObject[]): void {
    const known = new Set(levels.map(({ metadata }) => metadata.name ?? ''));
    for (const [name, level] of this.#pool.levels)
      if (!known.has(name)) {
        level.isRemoved = true;
        level.seats = { nominal: 0, lendable: 0, borrowable: Number.POSITIVE_INFINITY };
        if (level.used === 0 && level.waiting === 0) this.#pool.levels.delete(name);
      }
    const shares = levels.reduce((sum, { spec }) => sum + sharesOf(spec), 0);
    for (const { metadata, spec } of levels) {
      const level = this.#levelOf(metadata.name ?? '');
      level.isRemoved = false;
      level.uid = metadata.uid;
      level.isExempt = spec.type === 'Exempt';
      level.queuing = spec.limited?.limitResponse.queuing;
      level.seats = seatsOf(spec, shares === 0 ? 0 : this.#seats / shares);
    }
    this.#flows = schemas
      .toSorted(compareFlowSchemas)
      .flatMap((schema) => (known.has(schema.level) ? flowOf(schema, this.#levelOf(schema.level)) : []));
    this.#pool.recount();
  }

  /** Of all levels together. */
  get seats(): number {
    return this.#seats;
  }

  get levels(): Iterable<PriorityLevel> {
    return this.#pool.levels.values();
  }

  /** The catch-all matches every user that is authenticated or not, so every request has a flow. */
  classify(request: FlowRequest): Flow {
    for (const flow of this.#flows) if (flow.schema.matches(request)) return flow;
    return requireValue(this.#flows.at(-1), 'flow control is configured with the mandatory objects at least');
  }

  /** Seats for the request, at once or when its turn comes. Throws, or rejects with, FlowRejectedError. */
  acquire(flow: Flow, request: FlowRequest, seats: number, call: Call): FlowSeats | Promise<FlowSeats> {
    const held = new FlowSeats(this.#pool, this.#measures, flow, request, flow.level.clamp(seats), call);
    const wait = held.reacquire();
    return wait ? wait.then(() => held) : held;
  }

  /**
   * Resolves when a request of the flow that is refused, for whatever reason, may be answered; undefined if at once. Each
   * level has a pace of its own, so a flood in one of them holds back no refusals of others.
   */
  holdRefusal({ level }: Flow, call: Call): Promise<void> | undefined {
    if (level.isExempt) return undefined;
    const held = level.refusals.hold(this.#pool.clock, call);
    return held && trackLatency(call.latency, 'queue', held);
  }

  #levelOf(name: string): PriorityLevel {
    const { levels } = this.#pool;
    let level = levels.get(name);
    if (!level) levels.set(name, (level = new PriorityLevel(name)));
    return level;
  }
}

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
  readonly #pool: SeatPool;
  readonly #measures: FlowMeasures;
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

  constructor(pool: SeatPool, measures: FlowMeasures, flow: Flow, request: FlowRequest, seats: number, call: Call) {
    this.#pool = pool;
    this.#measures = measures;
    this.#flow = flow;
    this.#request = request;
    this.#seats = seats;
    this.#call = call;
  }

  /** Frees them for other requests while this one waits for its client. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { level } = this.#flow;
    level.executing--;
    if (level.isExempt) return;
    if (this.#queue) level.ended(this.#queue, this.#seats, this.#pool.clock.monotonicMs() - this.#sinceMs);
    this.#queue = undefined;
    this.#pool.free(level, this.#seats);
  }

  /** Not a promise if there are seats. Rejects with FlowRejectedError; the request then ends with 429. */
  reacquire(): Promise<void> | undefined {
    if (this.#isHeld) return undefined;
    const { level } = this.#flow;
    if (!level.isExempt && !this.#pool.tryTake(level, this.#seats))
      return trackLatency(
        this.#call.latency,
        'queue',
        inSpan(this.#call, 'queue', () => this.#wait()),
      );
    if (level.isBusy) {
      // Its flow has its turn later.
      this.#queue = level.findQueue(this.#key, true);
      if (this.#queue) level.began(this.#queue, this.#seats);
    }
    this.#begin();
    return undefined;
  }

  /** Takes the seats even if there are none. */
  forceAcquire(): void {
    if (this.#isHeld) return;
    if (!this.#flow.level.isExempt) this.#pool.take(this.#flow.level, this.#seats);
    this.#begin();
  }

  get #key(): string {
    const { schema } = this.#flow;
    return `${schema.name}\n${schema.flowOf(this.#request)}`;
  }

  /** Before all others of its queue if it was served before. */
  async #wait(): Promise<void> {
    const { level, schema } = this.#flow;
    const queue = level.findQueue(this.#key, this.#isKnown);
    if (!queue) throw this.#refuse(level.queuing ? 'queue-full' : 'concurrency-limit');
    const [seats, request, flow] = [this.#seats, this.#request, schema.flowOf(this.#request)];
    const sinceMs = this.#pool.clock.monotonicMs();
    const ended = (execute: boolean): void =>
      this.#measures.waited(this.#flow, this.#pool.clock.monotonicMs() - sinceMs, execute);
    try {
      await this.#pool.wait(level, { seats, queue, request, schema: schema.name, flow }, this.#call, this.#isKnown);
    } catch (error) {
      ended(false);
      if (error instanceof DeadlineExceededError) throw this.#refuse('time-out');
      level.counts.cancelled++;
      throw error;
    }
    ended(true);
    this.#queue = queue;
    this.#begin();
  }

  #refuse(reason: FlowRejection): FlowRejectedError {
    this.#measures.rejected(this.#flow, reason);
    const { counts } = this.#flow.level;
    if (reason === 'time-out') counts.timedOut++;
    else counts.rejected++;
    return new FlowRejectedError(reason);
  }

  #begin(): void {
    const { level } = this.#flow;
    this.#isHeld = true;
    level.executing++;
    if (this.#queue) this.#sinceMs = this.#pool.clock.monotonicMs();
    if (this.#isKnown) return;
    this.#isKnown = true;
    level.counts.dispatched++;
    this.#measures.dispatched(this.#flow);
  }
}
