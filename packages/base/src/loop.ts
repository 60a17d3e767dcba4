/**
 * One thread serves all clients, and this file says what it does when. Work whose amount clients control is queued in a lane.
 * In each iteration of the event loop a lane gets a bounded time, and all lanes together no more than an iteration may take:
 * what is left waits for the next iteration, which begins where this one has stopped. Time that a lane does not use shortens
 * the iteration, so that everything else has its next turn sooner. See docs/decisions/0060-loop.md.
 */
import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

interface LaneLimits {
  /** What the lane gets in each iteration. */
  readonly refillMs: number;
  /** What it may save up for a burst; otherwise what it gets in an iteration. */
  readonly savedMs?: number;
  /** It saves until it has this much: its slices are worth their overhead, and other work has iterations in between. */
  readonly sliceMs?: number;
  /** Each step counts as this much at least: its caller processes the result later, where nothing checks the clock. */
  readonly stepMs?: number;
  /** What its steps cause comes later and takes several times as long, so turns are shorter while iterations are long. */
  readonly isPaced?: boolean;
  /** One step may take a whole iteration, in callbacks of Node. After a long one, the lane rests. */
  readonly rests?: boolean;
}

/**
 * How long an iteration should take while work waits, with everything that it causes. The callbacks of Node before it admit
 * as much again, so no iteration takes more than twice as long and one step.
 */
export const iterationMs = 8;

/** While iterations take longer, turns of paced lanes become shorter, down to this share. */
const smallestShare = 1 / 8;

/** After a longer iteration, what waits in a resting lane rests for twice as long. */
const longIterationMs = 5;
const restFactor = 2;
/** A process that stood still does not delay its work for that long. */
const restMaxMs = 50;

/** A longer queue is perhaps not emptied in its first turn, so its owners alternate from the beginning. */
const orderedStepsMax = 32;

interface Step {
  /** Must not throw. */
  readonly run: () => void;
  /** Owners alternate while steps wait. */
  readonly owner: object | string;
  /** It counts as this much at least. */
  readonly costMs: number;
}

const noOwner = {};

class Lane {
  readonly limits: LaneLimits;
  readonly waiting = new FairQueue<Step>(({ owner }) => owner);
  readonly savedMs: number;
  readonly sliceMs: number;
  creditMs: number;
  /** When its turn in this iteration is over; undefined before it has begun. */
  endsMs: number | undefined;
  isResting = false;
  /** It has rested, and has not worked since then. */
  hasRested = false;

  constructor(limits: LaneLimits) {
    this.limits = limits;
    this.savedMs = limits.savedMs ?? limits.refillMs;
    this.sliceMs = limits.sliceMs ?? 0;
    this.creditMs = this.savedMs;
  }

  /** `share` is what a paced lane gets of its usual time. */
  refill(share: number): void {
    const { refillMs, isPaced } = this.limits;
    const part = isPaced ? share : 1;
    this.creditMs = Math.min(this.savedMs * part, this.creditMs + refillMs * part);
    this.endsMs = undefined;
  }

  /** An idle loop has iterations to spare. */
  restore(): void {
    this.creditMs = this.savedMs;
    this.endsMs = undefined;
  }

  get canBegin(): boolean {
    return !this.isResting && this.creditMs > 0 && this.creditMs >= this.sliceMs;
  }

  charge(costMs: number): void {
    // What one step takes too much is not paid back: the next iteration has a turn again.
    this.creditMs = Math.max(0, this.creditMs - Math.max(costMs, this.limits.stepMs ?? 0));
  }

  /** Whether it works in the next iteration, or gets back what it has used for steps that may run at once. */
  get needsIteration(): boolean {
    return (this.waiting.size > 0 && !this.isResting) || (!this.limits.isPaced && this.creditMs < this.savedMs);
  }
}

/** In the order in which an iteration serves them. */
const createLanes = () => ({
  /** Requests that have arrived: their handlers begin. Owned by users. */
  request: new Lane({ refillMs: 2, isPaced: true }),
  /** Responses that are ready. Owned by users. */
  response: new Lane({ refillMs: 2, isPaced: true }),
  /** TLS handshakes. */
  accept: new Lane({ refillMs: 2, rests: true }),
  /** Connections that are served from now on: each may bring all requests and resets that a client may send. */
  begin: new Lane({ refillMs: 1, rests: true }),
  /** Requests that end with their connections. */
  close: new Lane({ refillMs: 5, rests: true }),
  /** Pieces of responses: one for each of 16 readers at once, and fewer while some wait. */
  piece: new Lane({ refillMs: 2, savedMs: 10 }),
  /** What etcd delivers: changes, pages of a load, and the history. */
  feed: new Lane({ refillMs: 4 }),
  /** Changes on their way to watchers. */
  watch: new Lane({ refillMs: 2, savedMs: 4 }),
  /** Small writes whose body arrives in an iteration that is late already. */
  write: new Lane({ refillMs: 4 }),
  /** Lists, large writes, encodings, and whatever becomes ready in thousands at one moment. */
  bulk: new Lane({ refillMs: 1, savedMs: 4, sliceMs: 4, stepMs: 1 / 8 }),
});

export type LaneName = keyof ReturnType<typeof createLanes>;

export class Loop {
  /**
   * Runs an iteration. A server replaces it, to report what a step throws instead of ending the process. Several servers in
   * one process, as in tests, share the loop: the last one reports for all.
   */
  guard = (iterate: () => void): void => iterate();
  readonly #clock: Clock;
  readonly #lanes: Readonly<Record<LaneName, Lane>> = createLanes();
  readonly #order: readonly Lane[] = Object.values(this.#lanes);
  #isScheduled = false;
  #isWorking = false;
  /** When the present iteration began; undefined while there is nothing to do. */
  #beganMs: number | undefined;
  /** The place of the lane that begins the next iteration. */
  #first = 0;
  /** Requests or responses were left in the last iteration. */
  #isBehind = false;
  #share = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Queues a step, which must not throw. Steps of different owners alternate if they wait for several iterations. */
  queue(name: LaneName, run: () => void, owner: object | string = noOwner, costMs = 0): void {
    this.#lanes[name].waiting.push({ run, owner, costMs });
    this.#schedule();
  }

  /**
   * Queues a step that rests until then, so that it has more to do at once. Work that follows itself rests to leave the
   * processor to others.
   */
  queueAfterRest(name: LaneName, run: () => void, restsUntilMs: number): void {
    const restMs = restsUntilMs - this.#clock.monotonicMs();
    if (restMs <= 0) this.queue(name, run);
    else this.#clock.after(restMs, () => this.queue(name, run));
  }

  /** Runs a step at once if its lane has time and nothing waits there, and queues it otherwise. It must not throw. */
  runOrQueue(name: LaneName, run: () => void, costMs = 0): void {
    const lane = this.#lanes[name];
    if (!this.#admits(lane)) return this.queue(name, run, noOwner, costMs);
    lane.charge(costMs);
    run();
  }

  /** For work that can wait in the middle: resolves when it may go on; undefined if that is now. */
  turn(name: LaneName, costMs = 0, owner: object | string = noOwner): Promise<void> | undefined {
    const lane = this.#lanes[name];
    if (!this.#admits(lane)) return new Promise((resolve) => this.queue(name, resolve, owner, costMs));
    lane.charge(costMs);
    return undefined;
  }

  /** Whether a lane has time for another step in this iteration. Its turn begins with the first question. */
  hasTime(name: LaneName): boolean {
    return this.#hasTime(this.#lanes[name]);
  }

  /** Whether this iteration has lasted so long that what could begin now should wait. */
  get isLate(): boolean {
    return this.#beganMs !== undefined && this.#clock.monotonicMs() - this.#beganMs >= iterationMs;
  }

  /** Queues work, which is usually long. Its `shouldYield` says when long work should let others run. */
  schedule<T>(task: (shouldYield: () => boolean) => T, name: LaneName = 'bulk'): Promise<T> {
    return new Promise((resolve, reject) => {
      this.queue(name, () => {
        try {
          resolve(task(this.#shouldYield));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /**
   * Runs a short task at once if there is time for it, and queues it otherwise: one alone has no delay, and hundreds that
   * become ready at the same moment spread over as many iterations as they need.
   */
  runOrSchedule<T>(task: () => T): T | Promise<T> {
    const { bulk } = this.#lanes;
    if (!this.#admits(bulk)) return this.schedule(task);
    const beganMs = this.#clock.monotonicMs();
    try {
      return task();
    } finally {
      bulk.charge(this.#clock.monotonicMs() - beganMs);
    }
  }

  readonly #shouldYield = (): boolean => !this.hasTime('bulk');

  #admits(lane: Lane): boolean {
    return lane.waiting.size === 0 && this.#hasTime(lane);
  }

  #hasTime(lane: Lane): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (lane.endsMs === undefined) {
      this.#schedule();
      if (!lane.canBegin) return false;
      lane.endsMs = Math.min(nowMs + lane.creditMs, (this.#beganMs ?? nowMs) + iterationMs);
    }
    return lane.creditMs > 0 && nowMs < lane.endsMs;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isWorking) return;
    this.#clock.soon(this.#iterate);
    this.#isScheduled = true;
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  readonly #iterate = (): void => {
    this.#isScheduled = false;
    this.guard(this.#work);
  };

  readonly #work = (): void => {
    this.#isWorking = true;
    try {
      const nowMs = this.#clock.monotonicMs();
      const tookMs = nowMs - (this.#beganMs ?? nowMs);
      this.#beganMs = nowMs;
      this.#adjustShare(tookMs);
      for (const lane of this.#order) lane.refill(this.#share);
      if (tookMs > longIterationMs) this.#rest(tookMs);
      this.#runLanes(nowMs);
    } finally {
      this.#isWorking = false;
      this.#isBehind = this.#lanes.request.waiting.size + this.#lanes.response.waiting.size > 0;
      if (this.#order.some(({ needsIteration }) => needsIteration)) this.#schedule();
      else if (!this.#isScheduled) this.#becomeIdle();
    }
  };

  /** What requests cause after their first wait is not counted in their lane. */
  #adjustShare(tookMs: number): void {
    const wanted = this.#isBehind ? (this.#share * iterationMs) / tookMs : 1;
    this.#share = Math.min(1, Math.max(smallestShare, wanted));
  }

  #rest(tookMs: number): void {
    for (const lane of this.#order) {
      if (!lane.limits.rests || lane.isResting || lane.hasRested || lane.waiting.size === 0) continue;
      this.#clock.after(Math.min(restFactor * tookMs, restMaxMs), () => {
        lane.isResting = false;
        lane.hasRested = true;
        this.guard(this.#work);
      });
      lane.isResting = true;
    }
  }

  #runLanes(beganMs: number): void {
    const untilMs = beganMs + iterationMs;
    let atMs = beganMs;
    for (let passed = 0; passed < this.#order.length; passed++) {
      const place = (this.#first + passed) % this.#order.length;
      const lane = this.#order[place];
      if (!lane || lane.waiting.size === 0 || !lane.canBegin) continue;
      if (atMs >= untilMs) {
        this.#first = place;
        return;
      }
      atMs = this.#runLane(lane, atMs, untilMs);
    }
    this.#first = 0;
  }

  /** Returns when the turn was over, as if each step had taken its cost. */
  #runLane(lane: Lane, beganMs: number, untilMs: number): number {
    const { waiting } = lane;
    lane.hasRested = false;
    lane.endsMs = Math.min(beganMs + lane.creditMs, untilMs);
    if (waiting.size > orderedStepsMax) waiting.alternateOwners();
    const stepMs = lane.limits.stepMs ?? 0;
    let lateMs = 0;
    let atMs = beganMs;
    // Steps that are added meanwhile wait for the next iteration.
    for (let left = waiting.size; left > 0 && atMs < lane.endsMs; left--) {
      const step = waiting.shift();
      if (!step) break;
      step.run();
      const costMs = Math.max(step.costMs, stepMs);
      const endedMs = this.#clock.monotonicMs() + lateMs;
      lateMs += Math.max(0, atMs + costMs - endedMs);
      atMs = Math.max(endedMs, atMs + costMs);
    }
    if (waiting.size > 0) waiting.alternateOwners();
    lane.charge(atMs - beganMs);
    return atMs;
  }

  #becomeIdle(): void {
    this.#beganMs = undefined;
    for (const lane of this.#order) lane.restore();
  }
}

const loops = new WeakMap<Clock, Loop>();

/** A process has one clock and one event loop. */
export function loopOf(clock: Clock): Loop {
  let loop = loops.get(clock);
  if (!loop) loops.set(clock, (loop = new Loop(clock)));
  return loop;
}
