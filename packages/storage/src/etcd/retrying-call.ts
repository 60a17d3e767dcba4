/**
 * One call to etcd as a series of short attempts, each at the most promising member. How long the series goes on depends
 * on whether waiting can help: while a majority of the members responds, a leader will be elected.
 */
import { callUntil, type Clock, type Random, serverAttributes, throwIfAborted } from '@cluster-apiserver/base';
import {
  HistoryReplacedError,
  StorageAccessDeniedError,
  StorageFullError,
  StorageUnavailableError,
} from '../errors.ts';
import type { Call } from '../store.ts';
import type { ResponseTimes } from './response-times.ts';
import { classifyFault } from './faults.ts';
import { unavailableCode, unknownCode } from './grpc-status.ts';
import type { History } from './history.ts';
import type { EtcdMeasures } from './measures.ts';
import type { Member, Members } from './members.ts';
import type { OutageTracker } from './outage.ts';
import type { Refusals } from './refusals.ts';
import type { StallAwareClock } from './stall-aware-clock.ts';
import { EtcdFault, type LateResponseListener } from './transport.ts';
import type { Verification } from './verification.ts';
import type { Rpc } from './wire/rpc.ts';

export interface EtcdCall extends Call {
  /** When, by the stall-aware clock, the first of several calls began that share one retry budget. */
  readonly sinceMs?: number;
  /** Throw a MaybeAppliedError instead of retrying after an attempt that may have been applied. */
  readonly stopIfMaybeApplied?: boolean;
  /** Records whether an attempt may have been applied, whatever the outcome of the call. */
  readonly attempts?: AttemptRecord;
  /** The number of the history that the request is about; the present one by default. */
  readonly historyNumber?: number;
}

/** Whether one of several attempts got no response and may have been applied, now or later. */
export class AttemptRecord {
  maybeApplied = false;
}

/** An attempt got no response and may have been applied, now or later. */
export class MaybeAppliedError extends Error {
  override readonly name = 'MaybeAppliedError';
  /** Resolves if its response arrives after all, and never otherwise. */
  readonly lateResponse: Promise<unknown>;
  constructor(path: string, lateResponse: Promise<unknown>, options: ErrorOptions) {
    super(path, options);
    this.lateResponse = lateResponse;
  }
}

/** What the calls of one client share. */
export interface CallDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly stallAwareClock: StallAwareClock;
  readonly electionTimeoutMs: number;
  readonly measures: EtcdMeasures;
  readonly members: Members;
  readonly verification: Verification;
  readonly history: History;
  readonly outage: OutageTracker;
  readonly refusals: Refusals;
  /** How long after its timeout an attempt may still be answered. */
  readonly lateResponseMs: number;
  /** Throws once the client is closed. */
  requireOpen(): void;
}

/**
 * From the death of a leader to the first response of the next one takes up to 2 election timeouts, 3 if votes split, and
 * more if the members get no processor. Most members respond all that time, so it is worth waiting.
 */
const electionsMax = 6;
const electionsExtraMs = 200;

/**
 * Without a majority only a short network problem is worth waiting for: clients should get their error within 2 s,
 * whatever the election timeout.
 */
const noMajorityBudgetMs = 1_800;

/** How long a series of calls may still go on that began at `sinceMs`, by the stall-aware clock. */
export function budgetLeftMs(
  { members, electionTimeoutMs }: Pick<CallDependencies, 'members' | 'electionTimeoutMs'>,
  sinceMs: number,
  nowMs: number,
): number {
  const electionBudgetMs = electionTimeoutMs * electionsMax + electionsExtraMs;
  const budgetMs = members.majorityResponds(nowMs) ? electionBudgetMs : Math.min(electionBudgetMs, noMajorityBudgetMs);
  return sinceMs + budgetMs - nowMs;
}

/** How often an attempt that may last longer than that checks, in election timeouts, whether most members respond. */
const majorityCheckElections = 0.25;

/** A budget with less than this left is not worth an attempt. */
const attemptMinMs = 2;

/** Between rounds over all members, so that immediate errors do not become a storm of requests. */
const pauseMinMs = 20;
const pauseMaxMs = 80;

/** A member that reports too many requests gets a longer pause each time. */
const overloadPauseMs = 50;

export class RetryingCall<Request, Response> {
  readonly #shared: CallDependencies;
  readonly #rpc: Rpc<Request, Response>;
  #request: Request;
  readonly #call: EtcdCall;
  /** Of this kind of request. */
  readonly #times: ResponseTimes;
  readonly #historyNumber: number;
  readonly #startedMs: number;
  #attempt = 0;
  /** Exists from the first attempt on that got no response in time. */
  #lateResponses: LateResponses<Response> | undefined;
  #lastFault: EtcdFault | undefined;

  constructor(
    shared: CallDependencies,
    rpc: Rpc<Request, Response>,
    request: Request,
    call: EtcdCall,
    times: ResponseTimes,
  ) {
    this.#shared = shared;
    this.#rpc = rpc;
    this.#request = request;
    this.#call = call;
    this.#times = times;
    this.#historyNumber = call.historyNumber ?? shared.history.number;
    this.#startedMs = call.sinceMs ?? shared.stallAwareClock.nowMs();
  }

  async run(): Promise<Response> {
    const { outage, stallAwareClock, members, verification, history, lateResponseMs } = this.#shared;
    if (outage.isActive) await this.#waitForOutage();
    let message = this.#rpc.encode(this.#request);
    for (; ; this.#attempt++) {
      const late = this.#lateResponses?.arrived;
      if (late) {
        outage.end();
        return late.response;
      }
      const beganMs = stallAwareClock.nowMs();
      const leftMs = this.#requireTimeLeft(beganMs);
      const member = members.choose();
      const timeoutMs = Math.min(leftMs, this.#times.timeoutMs * timeoutFactor(this.#attempt, members.all.length));
      // If this attempt uses up the time left, only a majority that responds meanwhile justifies another one.
      if (timeoutMs === leftMs) members.probeAll();
      let responseMs = timeoutMs;
      let sentMs = beganMs;
      let isSent = false;
      try {
        if (!verification.isVerified(member)) {
          await this.#withMajority(verification.verify(member, timeoutMs), beganMs + timeoutMs);
          if (history.number !== this.#historyNumber) continue;
          if (!verification.isVerified(member)) throw unverifiedConnection(member);
          if (this.#lateResponses?.arrived) continue;
          // Verification and request together take no longer than one attempt may.
          sentMs = stallAwareClock.nowMs();
          responseMs = Math.max(attemptMinMs, beganMs + timeoutMs - sentMs);
        }
        isSent = true;
        const attempt = new Attempt(this, lateResponseMs, sentMs, history.revision);
        const responding = member.transport.unary(this.#rpc.path, message, {
          timeoutMs: responseMs,
          late: attempt,
          requireLeader: true,
          trace: this.#call.trace?.context,
        });
        const sending = this.#withMajority(responding, sentMs + responseMs, attempt);
        if (!this.#lateResponses) return this.#accept(member, await sending, attempt);
        const first = await this.#lateResponses.raceWith(sending);
        if ('message' in first) return this.#accept(member, first.message, attempt);
        outage.end();
        return first.response;
      } catch (error) {
        if (!(error instanceof EtcdFault)) throw error;
        stallAwareClock.noteTimerFired(beganMs + timeoutMs);
        const pauseMs = this.#handleFault(member, error, isSent);
        if (isSent && error.kind === 'lost' && this.#rpc.reduce) {
          this.#request = this.#rpc.reduce(this.#request);
          message = this.#rpc.encode(this.#request);
        }
        if (pauseMs > 0) await stallAwareClock.sleep(pauseMs);
      }
    }
  }

  /**
   * A slow leader gets a long attempt. While that waits, the members are probed: if most of them become silent, there is no
   * leader to wait for, and the attempt ends. `endsMs` is when it times out by itself. A request that was sent may still be
   * answered late.
   */
  #withMajority<T>(waiting: Promise<T>, endsMs: number, sent?: { onResponse(value: T): void }): Promise<T> {
    if (endsMs <= this.#startedMs + noMajorityBudgetMs) return waiting;
    const { stallAwareClock, members, electionTimeoutMs } = this.#shared;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let cancelTimer = (): void => {};
      const check = (): void => {
        const leftMs = budgetLeftMs(this.#shared, this.#startedMs, stallAwareClock.nowMs());
        if (leftMs > 0) {
          members.probeAll();
          cancelTimer = stallAwareClock.after(Math.min(leftMs, electionTimeoutMs * majorityCheckElections), check);
          return;
        }
        isOver = true;
        reject(new EtcdFault(sent ? 'lost' : 'unsent', unavailableCode, 'most members have become silent'));
      };
      check();
      waiting.then(
        (value) => {
          cancelTimer();
          if (isOver) sent?.onResponse(value);
          else resolve(value);
        },
        (error: unknown) => {
          cancelTimer();
          reject(error);
        },
      );
    });
  }

  /** A series of calls that has used up its budget does not wait once more. */
  #waitForOutage(): Promise<void> {
    const { clock, stallAwareClock, outage } = this.#shared;
    const leftMs = this.#startedMs + noMajorityBudgetMs - stallAwareClock.nowMs();
    return outage.waitBriefly(callUntil(Math.min(this.#call.deadlineMs, clock.monotonicMs() + leftMs)));
  }

  /** Returns the time that is left for an attempt. Throws if the call is over or has none left. */
  #requireTimeLeft(nowMs: number): number {
    const { clock, history, outage } = this.#shared;
    this.#shared.requireOpen();
    throwIfAborted(this.#call);
    if (history.number !== this.#historyNumber) throw new HistoryReplacedError({ cause: this.#lastFault });
    const seriesLeftMs = budgetLeftMs(this.#shared, this.#startedMs, nowMs);
    const deadlineLeftMs = this.#call.deadlineMs - clock.monotonicMs();
    const leftMs = Math.min(seriesLeftMs, deadlineLeftMs);
    if (leftMs >= attemptMinMs) return leftMs;
    if (seriesLeftMs <= deadlineLeftMs) outage.begin(this.#lastFault);
    throw new StorageUnavailableError('etcd does not respond', { cause: this.#lastFault });
  }

  /** The member responded in time. Throws an EtcdFault if its response is from another history. */
  #accept(member: Member, message: Buffer, { sentMs, seenRevision }: Attempt): Response {
    const { stallAwareClock, members, history, outage, refusals, measures } = this.#shared;
    if (history.number !== this.#historyNumber) throw replacedMeanwhile(member);
    const response = this.#decode(member, message);
    const header = this.#rpc.headerOf?.(response);
    if (header) {
      if (header.clusterId !== history.clusterId || header.revision < seenRevision) throw historyMismatch(member);
      history.noteRevision(header.revision, this.#historyNumber);
    }
    const nowMs = stallAwareClock.nowMs();
    members.noteSuccess(member, nowMs);
    const { trace } = this.#call;
    trace?.set({ ...serverAttributes(new URL(member.endpoint)), 'etcd.attempts': this.#attempt + 1 });
    this.#times.note(nowMs - sentMs, nowMs);
    measures.attemptEnded('answered');
    outage.end();
    if (refusals.full && this.#rpc.takesData?.(this.#request)) refusals.end('full');
    return response;
  }

  #decode(member: Member, message: Buffer): Response {
    try {
      return this.#rpc.decode(message);
    } catch (cause) {
      throw new EtcdFault('lost', unknownCode, `${member.endpoint} sent a malformed response`, { cause });
    }
  }

  /** A response arrived after the timeout of its attempt. It counts unless something newer is known. */
  acceptLate(message: Buffer, { sentMs, seenRevision }: Attempt): void {
    const { stallAwareClock, history } = this.#shared;
    const nowMs = stallAwareClock.nowMs();
    this.#times.note(nowMs - sentMs, nowMs);
    let response: Response;
    try {
      response = this.#rpc.decode(message);
    } catch {
      return; // as if it had never arrived
    }
    const header = this.#rpc.headerOf?.(response);
    const isOld = header && (header.clusterId !== history.clusterId || header.revision < seenRevision);
    if (isOld || history.number !== this.#historyNumber) return;
    if (header) history.noteRevision(header.revision, this.#historyNumber);
    this.#lateResponses?.resolve(response);
  }

  /** Returns how long to pause before the next attempt. Throws if no further attempt should be made. */
  #handleFault(member: Member, fault: EtcdFault, isSent: boolean): number {
    const { random, members, refusals, measures } = this.#shared;
    this.#lastFault = fault;
    measures.attemptEnded(fault.kind);
    if (isSent && fault.kind === 'lost') this.#lateResponses ??= new LateResponses();
    const faultClass = classifyFault(fault);
    if (faultClass.kind === 'final') {
      members.noteSuccess(member);
      if (faultClass.error instanceof StorageFullError) {
        measures.refusedForSpace();
        refusals.begin('full', faultClass.error);
      }
      if (faultClass.error instanceof StorageAccessDeniedError) this.#noteDenied(faultClass.error);
      throw faultClass.error;
    }
    members.noteFailure(member, fault.kind === 'refused');
    members.probeAll();
    if (isSent && faultClass.maybeApplied) this.#noteMaybeApplied(fault);
    if (faultClass.isOverloaded) return overloadPauseMs * (1 + random.below(this.#attempt + 2));
    const isRoundDone = this.#attempt % members.all.length === members.all.length - 1;
    return isRoundDone ? pauseMinMs + random.below(pauseMaxMs - pauseMinMs) : 0;
  }

  #noteDenied(cause: StorageAccessDeniedError): void {
    const harmless = this.#rpc.withoutEffect?.(this.#request);
    if (!harmless) return;
    this.#shared.refusals.beginDenied(cause, (call) =>
      new RetryingCall(this.#shared, this.#rpc, harmless, call, this.#times).run(),
    );
  }

  #noteMaybeApplied(cause: EtcdFault): void {
    const { attempts, stopIfMaybeApplied } = this.#call;
    if (attempts) attempts.maybeApplied = true;
    if (attempts || stopIfMaybeApplied) this.#shared.measures.attemptMaybeApplied();
    if (!stopIfMaybeApplied) return;
    this.#lateResponses ??= new LateResponses();
    throw new MaybeAppliedError(this.#rpc.path, this.#lateResponses.first, { cause });
  }
}

/** One attempt of a call, which also receives a response that arrives after the timeout. */
class Attempt implements LateResponseListener {
  readonly withinMs: number;
  readonly sentMs: number;
  /** The latest revision that was known when the request was sent. */
  readonly seenRevision: number;
  readonly #call: { acceptLate(message: Buffer, attempt: Attempt): void };

  constructor(
    call: { acceptLate(message: Buffer, attempt: Attempt): void },
    withinMs: number,
    sentMs: number,
    seenRevision: number,
  ) {
    this.#call = call;
    this.withinMs = withinMs;
    this.sentMs = sentMs;
    this.seenRevision = seenRevision;
  }

  onResponse(message: Buffer): void {
    this.#call.acceptLate(message, this);
  }
}

/**
 * Responses to attempts that timed out. They count like the response to the last attempt: a leader with a slow disk may
 * answer the first attempt during the third one.
 */
class LateResponses<Response> {
  readonly #first = Promise.withResolvers<Response>();
  /** The first one, while no attempt races with it. */
  arrived: { readonly response: Response } | undefined;

  get first(): Promise<Response> {
    return this.#first.promise;
  }

  resolve(response: Response): void {
    this.arrived ??= { response };
    this.#first.resolve(response);
  }

  /** Whatever arrives first: a late response, or the response to the present attempt. */
  raceWith(sending: Promise<Buffer>): Promise<{ readonly response: Response } | { readonly message: Buffer }> {
    return Promise.race([
      this.#first.promise.then((response) => ({ response })),
      sending.then((message) => ({ message })),
    ]);
  }
}

/**
 * The first attempts are short, because a dead leader is the likely cause. If the fault lasts longer than an election, the
 * cause may be slowness, and short attempts would all end just before their response.
 */
const timeoutFactor = (attempt: number, members: number): number => (attempt < 2 * members ? 1 : 2);

/** A member was reconnected while its connection was verified. */
export const unverifiedConnection = ({ endpoint }: Member): EtcdFault =>
  new EtcdFault('unsent', unavailableCode, `${endpoint} was reconnected`);

/** Something between this server and the member, such as a load balancer, now routes to another cluster. */
function historyMismatch(member: Member): EtcdFault {
  member.verifiedConnection = 0;
  return new EtcdFault('lost', unavailableCode, `${member.endpoint} responded from another history`);
}

/** The request was sent before another history was detected: a write may have been applied to either. */
const replacedMeanwhile = ({ endpoint }: Member): EtcdFault =>
  new EtcdFault('lost', unavailableCode, `${endpoint} responded after etcd's history was replaced`);
