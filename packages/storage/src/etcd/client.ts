/**
 * The client of one etcd cluster. Calls are retried at whichever member works (`retrying-call.ts`); streams are opened at
 * the most promising member, and their users resume them.
 */
import type { Clock, Random } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call } from '../store.ts';
import { ResponseTimes } from './response-times.ts';
import type { EtcdEvent } from './etcd-event.ts';
import { classifyFault } from './faults.ts';
import { History } from './history.ts';
import { type EtcdMeasures, noMeasures } from './measures.ts';
import { type Member, Members } from './members.ts';
import { OutageTracker } from './outage.ts';
import { Refusals } from './refusals.ts';
import {
  budgetLeftMs,
  type CallDependencies,
  type EtcdCall,
  RetryingCall,
  unverifiedConnection,
} from './retrying-call.ts';
import { StallAwareClock } from './stall-aware-clock.ts';
import { type Connect, EtcdFault, type MemberStream } from './transport.ts';
import { Verification } from './verification.ts';
import { type RangeRequest, range } from './wire/key-value.ts';
import type { Rpc } from './wire/rpc.ts';
import { type MemberStatus, memberStatus } from './wire/status.ts';

export interface EtcdOptions {
  /** All members of one cluster, such as http://127.0.0.1:2379. */
  readonly endpoints: readonly string[];
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  /** A key that the server may read; it need not exist. */
  readonly probeKey?: string;
  /** etcd's --election-timeout. Timeouts and retry budgets are multiples of it. */
  readonly electionTimeoutMs?: number;
  /**
   * Whether calls fail at once during an outage, without a brief wait for its end. A flood of them then does not hold what
   * requests that need another etcd share with them.
   */
  readonly failsAtOnce?: boolean;
  /** Receives events that operators should see in the log. */
  readonly report?: (event: EtcdEvent) => void;
  readonly measures?: EtcdMeasures;
}

export interface MemberConnection extends MemberStream {
  /** The stream failed: the next stream, and the next call, use another member. */
  markFailed(): void;
  /** A message does not match the known history: the member is verified before it is used again. */
  distrust(): void;
}

const defaultElectionTimeoutMs = 1_000;

/** Less than half: when a leader dies, an attempt lost with it leaves time for two more before the next one rules. */
const attemptPerElectionTimeout = 0.45;

/** A member that takes longer than this many election timeouts counts as dead, however slow it has been. */
const slowAttemptElectionsMax = 3;

const lostWatchReportIntervalMs = 60_000;

/** One etcd cluster, reached through whichever of its members works. */
export class EtcdClient {
  readonly clock: Clock;
  readonly random: Random;
  /** Timeouts are measured by this clock. */
  readonly stallAwareClock: StallAwareClock;
  readonly electionTimeoutMs: number;
  readonly measures: EtcdMeasures;
  /** The history of revisions that all responses belong to. */
  readonly history = new History();
  /** What its calls share. */
  readonly #shared: CallDependencies;
  // A slow disk makes all writes slow, and no reads.
  readonly #readTimes: ResponseTimes;
  readonly #writeTimes: ResponseTimes;
  readonly #latestRevisionRequest: RangeRequest;
  readonly #report: (event: EtcdEvent) => void;
  #lostWatchReportedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: EtcdOptions) {
    const { endpoints, connect, clock, random, report = () => {}, measures = noMeasures } = options;
    const { electionTimeoutMs = defaultElectionTimeoutMs, probeKey = 'head', failsAtOnce = false } = options;
    const attemptMs = electionTimeoutMs * attemptPerElectionTimeout;
    const slowAttemptMaxMs = electionTimeoutMs * slowAttemptElectionsMax;
    this.clock = clock;
    this.random = random;
    this.stallAwareClock = new StallAwareClock(clock);
    this.electionTimeoutMs = electionTimeoutMs;
    this.measures = measures;
    this.#readTimes = new ResponseTimes(attemptMs, slowAttemptMaxMs);
    this.#writeTimes = new ResponseTimes(attemptMs, slowAttemptMaxMs);
    this.#report = report;
    this.#latestRevisionRequest = { key: probeKey, countOnly: true };
    const { stallAwareClock, history } = this;
    const environment = { clock, random, stallAwareClock, electionTimeoutMs };
    const members = new Members({ ...environment, endpoints, connect });
    history.onReplaced((replaced) => report({ type: 'history replaced', ...replaced }));
    const verification = new Verification({
      ...{ clock, electionTimeoutMs, members, history },
      latestRevisionRequest: this.#latestRevisionRequest,
      report,
      onVerified: () => measures.connectionVerified(),
    });
    const probe = (): Promise<void> => probeMembers(members, verification, attemptMs);
    this.#shared = {
      ...environment,
      ...{ measures, members, verification, history },
      outage: new OutageTracker({ clock, random, report, probe, failsAtOnce }),
      refusals: new Refusals(report),
      lateResponseMs: slowAttemptMaxMs,
      requireOpen: () => this.#requireOpen(),
    };
    members.probeAll();
  }

  /** Retries until there is a valid response. */
  call<Request, Response>(rpc: Rpc<Request, Response>, request: Request, call: EtcdCall): Promise<Response> {
    const times = rpc.path === range.path ? this.#readTimes : this.#writeTimes;
    return new RetryingCall(this.#shared, rpc, request, call, times).run();
  }

  /** How many times as long writes take as without others before them. */
  get writeCongestion(): number {
    return this.#writeTimes.congestion;
  }

  /** A linearizable read of the latest revision. Throws StorageUnavailableError without a quorum. */
  async readLatestRevision(call: EtcdCall): Promise<Revision> {
    return revision((await this.call(range, this.#latestRevisionRequest, call)).header.revision);
  }

  /**
   * Opens a stream to the most promising member. It is not retried: only the caller knows where to resume. Rejects with an
   * EtcdFault if no stream can be opened, and with a StorageUnavailableError if the client is closed.
   */
  async openStream(path: string): Promise<MemberConnection> {
    this.#requireOpen();
    const member = this.#shared.members.choose();
    const verification = this.#shared.verification;
    try {
      if (!verification.isVerified(member)) await verification.verify(member, this.#readTimes.timeoutMs);
      if (!verification.isVerified(member)) throw unverifiedConnection(member);
    } catch (fault) {
      this.#noteFailure(member, fault instanceof EtcdFault && fault.kind === 'refused');
      throw fault;
    }
    this.#requireOpen();
    const stream = member.transport.openStream(path);
    return {
      send: (message) => stream.send(message),
      messages: stream.messages,
      close: () => stream.close(),
      markFailed: () => this.#noteFailure(member, false),
      distrust: () => {
        member.verifiedConnection = 0;
      },
    };
  }

  /**
   * How long a series of calls may still go on that began at `sinceMs` of the stall-aware clock, as far as is known of the
   * members; asks those that have not responded lately.
   */
  budgetLeftMs(sinceMs: number): number {
    this.#shared.members.probeAll();
    return budgetLeftMs(this.#shared, sinceMs, this.stallAwareClock.nowMs());
  }

  /** The database size of the member that responds. */
  async readDatabaseBytes(call: Call): Promise<number> {
    return (await this.#readStatus(call)).databaseBytes;
  }

  /** Rejects with what etcd refuses at present: a watch, or data. Used by health checks. */
  async checkRefusals(call: Call): Promise<void> {
    if (this.#shared.refusals.full) await this.#checkForSpace(call).catch(ignoreUnreachableMember);
    await this.#shared.refusals.recheckDenied(call);
    this.#shared.refusals.check();
  }

  /** A watch failed with this fault; undefined if etcd has accepted one. */
  noteWatchOutcome(fault: EtcdFault | undefined): void {
    if (!fault) return this.#shared.refusals.end('watch');
    // Without a leader etcd ends watches, too, and accepts them again when there is one.
    const isRefusal = fault.kind === 'refused' && classifyFault(fault).kind === 'final';
    this.measures.watchEnded(isRefusal ? 'refusal' : 'loss');
    if (isRefusal) this.#shared.refusals.begin('watch', fault);
    else this.#reportLostWatch(fault);
  }

  close(): void {
    this.#isClosed = true;
    this.#shared.outage.close();
    this.#shared.members.close();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new StorageUnavailableError('the etcd client is closed');
  }

  #reportLostWatch(cause: EtcdFault): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs < this.#lostWatchReportedMs + lostWatchReportIntervalMs) return;
    this.#lostWatchReportedMs = nowMs;
    this.#report({ type: 'watch lost', cause });
  }

  #noteFailure(member: Member, hasResponded: boolean): void {
    this.#shared.members.noteFailure(member, hasResponded);
    this.#shared.members.probeAll();
  }

  /** Only a successful write would show that there is space again, and a replica that is not ready gets no writes. */
  async #checkForSpace(call: Call): Promise<void> {
    if (!(await this.#readStatus(call)).outOfSpace) this.#shared.refusals.end('full');
  }

  async #readStatus(call: Call): Promise<MemberStatus> {
    const options = { timeoutMs: call.deadlineMs - this.clock.monotonicMs(), requireLeader: false };
    const { transport } = this.#shared.members.choose();
    return memberStatus.decode(await transport.unary(memberStatus.path, memberStatus.encode(), options));
  }
}

/** Verifies each member by a linearizable read: a single response of the known history proves that there is a quorum. */
async function probeMembers(members: Members, verification: Verification, timeoutMs: number): Promise<void> {
  const probeMember = async (member: Member): Promise<void> => {
    await verification.verify(member, timeoutMs);
    if (!verification.isVerified(member)) throw unverifiedConnection(member);
    members.noteSuccess(member);
  };
  await Promise.any(members.all.map(probeMember));
}

/** Without a response etcd still counts as full, until a member reports space or accepts data. */
const ignoreUnreachableMember = (): void => {};
