/**
 * Which member, which attempt, which deadline. One member can fail at any moment and the cluster go on, so every call
 * is a series of short attempts, each at the likeliest member. How long the series goes on depends on whether waiting
 * can help: as long as most members live, a leader will be found; when they do not, nothing can be found.
 */
import { callUntil, type Clock, type Random, serverAttributes, throwIfAborted } from '@cluster-apiserver/base';
import { HistoryReplacedError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call } from '../store.ts';
import { capabilitiesOfVersion } from './capabilities.ts';
import { classifyFault } from './faults.ts';
import { History, type HistoryReplaced } from './history.ts';
import { type EtcdMeasures, noMeasures } from './measures.ts';
import { type Member, type Members, trackMembers } from './members.ts';
import { trackOutage } from './outage.ts';
import { Refusals } from './refusals.ts';
import { type Connect, EtcdFault, type MemberStream } from './transport.ts';
import { AdaptiveTimeout } from './adaptive-timeout.ts';
import { Verification } from './verification.ts';
import { StallAwareClock } from './stall-aware-clock.ts';
import type { Rpc } from './wire/fields.ts';
import { type RangeRequest, range } from './wire/key-value.ts';
import { type MemberStatus, memberStatus } from './wire/status.ts';

export interface EtcdOptions {
  /** Such as http://127.0.0.1:2379, all members of one cluster. */
  readonly endpoints: readonly string[];
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  /** A key that we may read; it need not exist. */
  readonly probeKey?: string;
  /** etcd's --election-timeout. Attempts and patience are measured in it. */
  readonly electionTimeoutMs?: number;
  /** Told of what an operator wants to know. */
  readonly report?: (event: EtcdEvent) => void;
  readonly measures?: EtcdMeasures;
}

export type EtcdEvent =
  /** A member runs a version that lacks something we would use. */
  | { readonly type: 'lacks'; readonly endpoint: string; readonly version: string; readonly capability: string }
  /** No answer can be had; calls fail early from now on. */
  | { readonly type: 'outage began'; readonly cause: unknown }
  | { readonly type: 'outage ended'; readonly afterMs: number }
  /** etcd was restored, rebuilt or swapped: nothing that was known counts any more. */
  | ({ readonly type: 'history replaced' } & HistoryReplaced)
  /** An endpoint leads to another cluster than the others; it is not used. */
  | { readonly type: 'foreign member'; readonly endpoint: string }
  /** etcd takes no more data, or takes it again. */
  | { readonly type: 'full' | 'not full' }
  /** etcd does not let us watch: nothing that others write is seen. */
  | { readonly type: 'watch refused'; readonly cause: unknown }
  | { readonly type: 'watch accepted' };

/** One cluster of etcd, reached through whichever of its members works. */
export interface EtcdClient {
  readonly clock: Clock;
  readonly random: Random;
  /** What patience is measured in. */
  readonly stallAwareClock: StallAwareClock;
  readonly electionTimeoutMs: number;
  readonly measures: EtcdMeasures;
  /** Rejects with what etcd refuses at present: a watch, or data. */
  checkRefusals(call: Call): Promise<void>;
  /** A watch ended badly; undefined when one has told something. */
  noteWatchOutcome(fault: EtcdFault | undefined): void;
  /** What everything that is asked here is a part of. */
  readonly history: History;
  /** Asks until there is an answer that counts. */
  call<Request, Answer>(rpc: Rpc<Request, Answer>, request: Request, call: EtcdCall): Promise<Answer>;
  /**
   * A stream to the likeliest member. It is not repeated: the caller knows where it was. Rejects with an EtcdFault when
   * there is none, and with a StorageUnavailableError when the client is closed.
   */
  openStream(path: string): Promise<MemberConnection>;
  /** The size of the database of the member that answers. */
  readDatabaseBytes(call: Call): Promise<number>;
  /** Asks a quorum for the newest revision; throws StorageUnavailableError when there is none to ask. */
  readLatestRevision(call: EtcdCall): Promise<Revision>;
  close(): void;
}

export interface EtcdCall extends Call {
  /** When, in waking time, the first of several calls began that share one patience. */
  readonly sinceMs?: number;
  /** Throw InDoubtError instead of going on after an attempt that may have been applied. */
  readonly stopIfMaybeApplied?: boolean;
  /** Noted here when an attempt may have been applied, whatever comes of the call. */
  readonly attempts?: AttemptRecord;
  /** The number of the history that the request is about; that of now when undefined. */
  readonly historyNumber?: number;
}

/** Whether one of several attempts left without an answer and may have been applied, now or later. */
export class AttemptRecord {
  maybeApplied = false;
}

/** An attempt left without an answer and may have been applied, now or later. */
export class MaybeAppliedError extends Error {
  override readonly name = 'InDoubtError';
  /** Resolves when its answer comes after all, and else never. */
  readonly lateResponse: Promise<unknown>;
  constructor(path: string, late: Promise<unknown>, options: ErrorOptions) {
    super(path, options);
    this.lateResponse = late;
  }
}

export interface MemberConnection extends MemberStream {
  /** What the member can do, as far as it has told yet. */
  readonly supportsProgressRequests: boolean;
  /** The stream came to a bad end: the next one, and the next call, go to another member. */
  markFailed(): void;
  /** What came over it does not fit what we know: the member shows its history before it is used again. */
  distrust(): void;
}

/** However slow answers are, this many election timeouts are enough to take a member for dead. */
const slowAttemptElectionsMax = 3;

const defaultElectionTimeoutMs = 1_000;

const unavailableCode = 14;

/** Less than half: when a leader dies, an attempt lost with it leaves time for two more before the next one rules. */
const attemptPerElectionTimeout = 0.45;

/**
 * From the death of a leader to the first answer of the next one takes up to 2 election timeouts, 3 when votes split, and
 * more when the members get no processor. Most members answer all that time, so it is worth waiting for.
 */
const electionsMax = 6;
const electionsExtraMs = 200;

/** Without a majority there is nothing to wait for but a short network trouble. The caller's answer is due within 2 s. */
const noMajorityBudgetMs = 1_800;

/** What is left of a budget and less than this is not worth an attempt. */
const attemptMinMs = 2;

/** Between rounds over all members, so that an error answered at once does not become a storm of requests. */
const pauseMinMs = 20;
const pauseMaxMs = 80;

/** A member that says it is crowded is given more time each time. */
const overloadPauseMs = 50;

export function openEtcdClient(options: EtcdOptions): EtcdClient {
  const { clock, random, report = () => {}, measures = noMeasures } = options;
  const electionTimeoutMs = options.electionTimeoutMs ?? defaultElectionTimeoutMs;
  const attemptMs = electionTimeoutMs * attemptPerElectionTimeout;
  const electionMs = electionTimeoutMs * electionsMax + electionsExtraMs;
  const slowAttemptMaxMs = electionTimeoutMs * slowAttemptElectionsMax;
  const time = new StallAwareClock(clock);
  const members = trackMembers({
    endpoints: options.endpoints,
    connect: options.connect,
    clock,
    random,
    stallAwareClock: time,
    electionTimeoutMs,
    onVersion: createCapabilityReporter(report),
  });
  // With a slow disk writes are slow, all of them, and reads are not.
  const slownessOfReads = new AdaptiveTimeout(attemptMs, slowAttemptMaxMs);
  const slownessOfWrites = new AdaptiveTimeout(attemptMs, slowAttemptMaxMs);
  const latestRevisionRequest = { key: options.probeKey ?? 'head', countOnly: true };
  const outage = trackOutage({ clock, random, report, probe: () => probe(members, latestRevisionRequest, attemptMs) });
  let closed = false;
  const mustBeOpen = (): void => {
    if (closed) throw new StorageUnavailableError('the connection to etcd was given up');
  };
  const history = new History();
  history.onReplaced((replaced) => report({ type: 'history replaced', ...replaced }));
  const foreign = createForeignMemberReporter(report);
  const verified = (): void => measures.connectionVerified();
  const verification = new Verification({
    clock,
    electionTimeoutMs,
    members,
    history,
    headRequest: latestRevisionRequest,
    onForeignMember: foreign,
    onVerified: verified,
  });
  const refusals = new Refusals(report);
  members.probeAll();

  const callEtcd = async <Request, Answer>(
    rpc: Rpc<Request, Answer>,
    request: Request,
    call: EtcdCall,
  ): Promise<Answer> => {
    const number = call.historyNumber ?? history.number;
    const startedMs = call.sinceMs ?? time.nowMs();
    if (outage.isActive) {
      // A series of calls that has used up its patience does not wait once more.
      const patienceLeftMs = startedMs + noMajorityBudgetMs - time.nowMs();
      await outage.waitBriefly(callUntil(Math.min(call.deadlineMs, clock.monotonicMs() + patienceLeftMs)));
    }
    const message = rpc.encode(request);
    const slowness = rpc.path === range.path ? slownessOfReads : slownessOfWrites;
    let late: LateResponses<Answer> | undefined;
    let lastFault: EtcdFault | undefined;
    for (let attempt = 0; ; attempt++) {
      mustBeOpen();
      throwIfAborted(call);
      if (history.number !== number) throw new HistoryReplacedError({ cause: lastFault });
      const beganMs = time.nowMs();
      const budgetMs = members.majorityResponds() ? electionMs : Math.min(electionMs, noMajorityBudgetMs);
      const patienceLeftMs = startedMs + budgetMs - beganMs;
      const deadlineLeftMs = call.deadlineMs - clock.monotonicMs();
      const leftMs = Math.min(patienceLeftMs, deadlineLeftMs);
      if (leftMs < attemptMinMs) {
        if (patienceLeftMs <= deadlineLeftMs) outage.begin(lastFault);
        throw new StorageUnavailableError('etcd gives no answer', { cause: lastFault });
      }
      const member = members.choose();
      const timeoutMs = Math.min(leftMs, slowness.currentMs * timeoutFactor(attempt, members.all.length));
      let sent = false;
      let answerMs = timeoutMs;
      try {
        if (!verification.isVerified(member)) {
          await verification.verify(member, timeoutMs);
          if (history.number !== number) continue;
          if (!verification.isVerified(member)) throw unverifiedConnection(member);
          // Both questions together take no longer than one may.
          answerMs = Math.max(attemptMinMs, beganMs + timeoutMs - time.nowMs());
        }
        const seen = history.revision;
        sent = true;
        const sentMs = time.nowMs();
        const cameLate = (message: Buffer): void => {
          slowness.noteResponse(time.nowMs() - sentMs);
          const answer = rpc.decode(message);
          const header = rpc.headerOf?.(answer);
          const isOld = header && (header.clusterId !== history.clusterId || header.revision < seen);
          if (isOld || history.number !== number) return;
          if (header) history.noteRevision(header.revision);
          late?.came(answer);
        };
        const options = {
          timeoutMs: answerMs,
          late: { withinMs: slowAttemptMaxMs, onResponse: cameLate },
          requireLeader: true,
          trace: call.trace?.context,
        };
        const asked = member.transport.unary(rpc.path, message, options);
        const first = late ? await late.orElse(asked) : { message: await asked };
        if ('answer' in first) {
          outage.end();
          return first.answer;
        }
        const answer = rpc.decode(first.message);
        const header = rpc.headerOf?.(answer);
        if (header) {
          if (header.clusterId !== history.clusterId || header.revision < seen) throw historyMismatch(member);
          history.noteRevision(header.revision);
        }
        members.noteSuccess(member);
        call.trace?.set({ ...serverAttributes(new URL(member.endpoint)), 'etcd.attempts': attempt + 1 });
        slowness.noteResponse(time.nowMs() - sentMs);
        measures.attemptEnded('answered');
        outage.end();
        if (refusals.full && rpc.takesData?.(request)) refusals.end('full');
        return answer;
      } catch (error) {
        if (!(error instanceof EtcdFault)) throw error;
        time.noteTimerFired(beganMs + timeoutMs);
        lastFault = error;
        measures.attemptEnded(error.kind);
        if (sent && error.kind === 'lost') late ??= new LateResponses();
        const meaning = classifyFault(error);
        if (meaning.kind === 'final') {
          members.noteSuccess(member);
          if (meaning.error instanceof StorageFullError) {
            measures.refusedForSpace();
            refusals.begin('full', meaning.error);
          }
          throw meaning.error;
        }
        members.noteFailure(member, error.kind === 'refused');
        members.probeAll();
        if (sent && meaning.applied === 'perhaps') {
          if (call.attempts) call.attempts.maybeApplied = true;
          if (call.attempts || call.stopIfMaybeApplied) measures.attemptMaybeApplied();
          if (call.stopIfMaybeApplied)
            throw new MaybeAppliedError(rpc.path, (late ??= new LateResponses()).first, { cause: error });
        }
        const roundDone = attempt % members.all.length === members.all.length - 1;
        if (meaning.isOverloaded) await time.sleep(overloadPauseMs * (1 + random.below(attempt + 2)));
        else if (roundDone) await time.sleep(pauseMinMs + random.below(pauseMaxMs - pauseMinMs));
      }
    }
  };

  /** Only a write that succeeds would show that there is space again, and a replica that is not ready gets none. */
  const lookForSpace = async (call: Call): Promise<void> => {
    if (!(await statusOfMember(call)).outOfSpace) refusals.end('full');
  };
  const statusOfMember = async (call: Call): Promise<MemberStatus> => {
    const options = { timeoutMs: call.deadlineMs - clock.monotonicMs(), requireLeader: false };
    return memberStatus.decode(
      await members.choose().transport.unary(memberStatus.path, memberStatus.encode(), options),
    );
  };

  return {
    clock,
    random,
    stallAwareClock: time,
    electionTimeoutMs,
    measures,
    readDatabaseBytes: async (call) => (await statusOfMember(call)).databaseBytes,
    checkRefusals: async (call) => {
      if (refusals.full) await lookForSpace(call).catch(ignoreUnreachableMember);
      refusals.check();
    },
    noteWatchOutcome: (fault) => {
      if (!fault) return refusals.end('watch');
      measures.watchEnded(fault.kind === 'refused' ? 'refusal' : 'loss');
      if (fault.kind === 'refused') refusals.begin('watch', fault);
    },
    history,
    call: callEtcd,
    openStream: async (path) => {
      mustBeOpen();
      const member = members.choose();
      const failed = (answered: boolean): void => {
        members.noteFailure(member, answered);
        members.probeAll();
      };
      try {
        if (!verification.isVerified(member)) await verification.verify(member, slownessOfReads.currentMs);
        if (!verification.isVerified(member)) throw unverifiedConnection(member);
      } catch (fault) {
        failed(fault instanceof EtcdFault && fault.kind === 'refused');
        throw fault;
      }
      mustBeOpen();
      const stream = member.transport.openStream(path);
      return {
        send: (message) => stream.send(message),
        messages: stream.messages,
        close: () => stream.close(),
        get supportsProgressRequests() {
          return member.version !== undefined && capabilitiesOfVersion(member.version).progressRequests;
        },
        markFailed: () => failed(false),
        distrust: () => {
          member.verifiedConnection = 0;
        },
      };
    },
    readLatestRevision: async (call) => revision((await callEtcd(range, latestRevisionRequest, call)).header.revision),
    close: () => {
      closed = true;
      outage.close();
      members.close();
    },
  };
}

/**
 * Answers of attempts whose time was over. One of them is as good as an answer of the last attempt: a leader with a slow
 * disk answers the first one while it is asked for the third time.
 */
class LateResponses<Answer> {
  readonly #first = Promise.withResolvers<Answer>();

  get first(): Promise<Answer> {
    return this.#first.promise;
  }

  came(answer: Answer): void {
    this.#first.resolve(answer);
  }

  /** What comes first: a late answer, or what the present attempt is told. */
  orElse(asked: Promise<Buffer>): Promise<{ readonly answer: Answer } | { readonly message: Buffer }> {
    return Promise.race([this.#first.promise.then((answer) => ({ answer })), asked.then((message) => ({ message }))]);
  }
}

/**
 * The first attempts are short, because the likely fault is a dead leader. When that lasts longer than an election, the
 * fault may be slowness instead, and attempts that all end just before their answer would never succeed.
 */
const timeoutFactor = (attempt: number, members: number): number => (attempt < 2 * members ? 1 : 2);

/** One linearizable read at each member: any good answer proves that there is a quorum. */
async function probe(members: Members, headRequest: RangeRequest, timeoutMs: number): Promise<void> {
  const message = range.encode(headRequest);
  const ask = async (member: Member): Promise<void> => {
    await member.transport.unary(range.path, message, { timeoutMs, requireLeader: true });
    members.noteSuccess(member);
  };
  await Promise.any(members.all.map(ask));
}

/** Then etcd counts as full for as long as before: until a member says otherwise, or takes data. */
const ignoreUnreachableMember = (): void => {};

const unverifiedConnection = ({ endpoint }: Member): EtcdFault =>
  new EtcdFault('unsent', unavailableCode, `${endpoint} was connected to anew`);

/** Something between us and the members leads elsewhere now. */
function historyMismatch(member: Member): EtcdFault {
  member.verifiedConnection = 0;
  return new EtcdFault('lost', unavailableCode, `${member.endpoint} answered out of another history`);
}

/** Each endpoint is told of once. */
function createForeignMemberReporter(report: (event: EtcdEvent) => void): (member: Member) => void {
  const reported = new Set<Member>();
  return (member) => {
    if (reported.has(member)) return;
    reported.add(member);
    report({ type: 'foreign member', endpoint: member.endpoint });
  };
}

function createCapabilityReporter(report: (event: EtcdEvent) => void): (member: Member, version: string) => void {
  return ({ endpoint }, version) => {
    for (const [capability, present] of Object.entries(capabilitiesOfVersion(version))) {
      if (!present) report({ type: 'lacks', endpoint, version, capability });
    }
  };
}
