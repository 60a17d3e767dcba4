/**
 * Which member, which attempt, which deadline. One member can fail at any moment and the cluster go on, so every call
 * is a series of short attempts, each at the likeliest member. How long the series goes on depends on whether waiting
 * can help: as long as most members live, a leader will be found; when they do not, nothing can be found.
 */
import { callUntil, type Clock, type Random, throwIfAborted } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call } from '../store.ts';
import { capabilitiesOf } from './capabilities.ts';
import { meaningOf } from './faults.ts';
import { type Member, type Members, trackMembers } from './members.ts';
import { outageWatch } from './outage.ts';
import { type Connect, EtcdFault, type MemberStream } from './transport.ts';
import { WakingTime } from './waking-time.ts';
import type { Rpc } from './wire/fields.ts';
import { range } from './wire/key-value.ts';

export interface EtcdOptions {
  /** Such as http://127.0.0.1:2379, all members of one cluster. */
  readonly endpoints: readonly string[];
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  /** etcd's --election-timeout. Attempts and patience are measured in it. */
  readonly electionTimeoutMs?: number;
  /** Told of what an operator wants to know. */
  readonly report?: (event: EtcdEvent) => void;
}

export type EtcdEvent =
  /** A member runs a version that lacks something we would use. */
  | { readonly type: 'lacks'; readonly endpoint: string; readonly version: string; readonly capability: string }
  /** No answer can be had; calls fail early from now on. */
  | { readonly type: 'outage began'; readonly cause: unknown }
  | { readonly type: 'outage ended'; readonly afterMs: number };

/** One cluster of etcd, reached through whichever of its members works. */
export interface EtcdClient {
  readonly clock: Clock;
  readonly random: Random;
  /** What patience is measured in. */
  readonly time: WakingTime;
  /** Asks until there is an answer that counts. */
  call<Request, Answer>(rpc: Rpc<Request, Answer>, request: Request, call: EtcdCall): Promise<Answered<Answer>>;
  /**
   * A stream to the likeliest member. It is not repeated: the caller knows where it was. Throws
   * StorageUnavailableError when the client is closed, and only then.
   */
  stream(path: string): MemberConnection;
  /** The newest revision that any answer has told of; 0 before the first. */
  readonly headRevision: number;
  /** Notes the newest revision of an answer that came by a stream. */
  sawRevision(revision: number): void;
  /** Asks a quorum for the newest revision; throws StorageUnavailableError when there is none to ask. */
  readHead(call: EtcdCall): Promise<Revision>;
  close(): void;
}

export interface EtcdCall extends Call {
  /** When, in waking time, the first of several calls began that share one patience. */
  readonly sinceMs?: number;
  /** Throw InDoubtError instead of going on after an attempt that may have been applied. */
  readonly stopInDoubt?: boolean;
}

/** An attempt left without an answer and may have been applied, now or later. */
export class InDoubtError extends Error {
  override readonly name = 'InDoubtError';
}

export interface Answered<Answer> {
  readonly answer: Answer;
  /** An earlier attempt of the same call left without an answer and may have been applied. */
  readonly perhapsApplied: boolean;
}

export interface MemberConnection extends MemberStream {
  /** What the member can do, as far as it has told yet. */
  readonly progressRequests: boolean;
  /** The stream came to a bad end: the next one, and the next call, go to another member. */
  failed(): void;
}

const defaultElectionTimeoutMs = 1_000;

/** Less than half: when a leader dies, an attempt lost with it leaves time for two more before the next one rules. */
const attemptPerElectionTimeout = 0.45;

/**
 * From the death of a leader to the first answer of the next one takes up to 2 election timeouts, 3 when votes split, and
 * more when the members get no processor. Most members answer all that time, so it is worth waiting for.
 */
const electionsPatience = 6;
const electionsPatienceExtraMs = 200;

/** Without a majority there is nothing to wait for but a short network trouble. The caller's answer is due within 2 s. */
const withoutMajorityMs = 1_800;

/** What is left of a budget and less than this is not worth an attempt. */
const attemptMinMs = 2;

/** Between rounds over all members, so that an error answered at once does not become a storm of requests. */
const pauseMinMs = 20;
const pauseMaxMs = 80;

/** A member that says it is crowded is given more time each time. */
const crowdedPauseMs = 50;

/** Any key will do to ask for the newest revision; nothing is stored under this one. */
const headRequest = { key: 'head', countOnly: true };

export function openEtcdClient(options: EtcdOptions): EtcdClient {
  const { clock, random, report = () => {} } = options;
  const electionTimeoutMs = options.electionTimeoutMs ?? defaultElectionTimeoutMs;
  const attemptMs = electionTimeoutMs * attemptPerElectionTimeout;
  const electionMs = electionTimeoutMs * electionsPatience + electionsPatienceExtraMs;
  const time = new WakingTime(clock);
  const members = trackMembers(options.endpoints, options.connect, time, lacksReporter(report));
  const outage = outageWatch({ clock, random, report, probe: () => probe(members, attemptMs) });
  let closed = false;
  const mustBeOpen = (): void => {
    if (closed) throw new StorageUnavailableError('the connection to etcd was given up');
  };
  let headRevision = 0;
  const sawRevision = (revision: number): void => {
    if (revision > headRevision) headRevision = revision;
  };
  members.survey();

  const callEtcd = async <Request, Answer>(
    rpc: Rpc<Request, Answer>,
    request: Request,
    call: EtcdCall,
  ): Promise<Answered<Answer>> => {
    const startedMs = call.sinceMs ?? time.nowMs();
    if (outage.present) {
      // A series of calls that has used up its patience does not wait once more.
      const patienceLeftMs = startedMs + withoutMajorityMs - time.nowMs();
      await outage.waitBriefly(callUntil(Math.min(call.deadlineMs, clock.monotonicMs() + patienceLeftMs)));
    }
    const message = rpc.encode(request);
    let perhapsApplied = false;
    let lastFault: EtcdFault | undefined;
    for (let attempt = 0; ; attempt++) {
      mustBeOpen();
      throwIfAborted(call);
      const beganMs = time.nowMs();
      const budgetMs = members.majorityAnswers() ? electionMs : Math.min(electionMs, withoutMajorityMs);
      const patienceLeftMs = startedMs + budgetMs - beganMs;
      const deadlineLeftMs = call.deadlineMs - clock.monotonicMs();
      const leftMs = Math.min(patienceLeftMs, deadlineLeftMs);
      if (leftMs < attemptMinMs) {
        if (patienceLeftMs <= deadlineLeftMs) outage.begin(lastFault);
        throw new StorageUnavailableError('etcd gives no answer', { cause: lastFault });
      }
      const member = members.choose();
      const timeoutMs = Math.min(leftMs, attemptMs * patience(attempt, members.all.length));
      try {
        const answer = rpc.decode(await member.transport.unary(rpc.path, message, { timeoutMs, requireLeader: true }));
        members.served(member);
        outage.end();
        return { answer, perhapsApplied };
      } catch (error) {
        if (!(error instanceof EtcdFault)) throw error;
        time.wasDue(beganMs + timeoutMs);
        lastFault = error;
        const meaning = meaningOf(error);
        if (meaning.kind === 'final') {
          members.served(member);
          throw meaning.error;
        }
        members.failed(member, error.fate === 'refused');
        members.survey();
        if (meaning.applied === 'perhaps') {
          if (call.stopInDoubt) throw new InDoubtError(rpc.path, { cause: error });
          perhapsApplied = true;
        }
        const roundDone = attempt % members.all.length === members.all.length - 1;
        if (meaning.crowded) await time.pause(crowdedPauseMs * (1 + random.below(attempt + 2)));
        else if (roundDone) await time.pause(pauseMinMs + random.below(pauseMaxMs - pauseMinMs));
      }
    }
  };

  return {
    clock,
    random,
    time,
    call: callEtcd,
    stream: (path) => {
      mustBeOpen();
      const member = members.choose();
      const stream = member.transport.stream(path);
      return {
        send: (message) => stream.send(message),
        messages: stream.messages,
        close: () => stream.close(),
        get progressRequests() {
          return member.version !== undefined && capabilitiesOf(member.version).progressRequests;
        },
        failed: () => {
          members.failed(member, false);
          members.survey();
        },
      };
    },
    get headRevision() {
      return headRevision;
    },
    sawRevision,
    readHead: async (call) => {
      const { answer } = await callEtcd(range, headRequest, call);
      sawRevision(answer.headRevision);
      return revision(answer.headRevision);
    },
    close: () => {
      closed = true;
      outage.close();
      members.close();
    },
  };
}

/**
 * The first attempts are short, because the likely fault is a dead leader. When that lasts longer than an election, the
 * fault may be slowness instead, and attempts that all end just before their answer would never succeed.
 */
const patience = (attempt: number, members: number): number => (attempt < 2 * members ? 1 : 2);

/** One linearizable read at each member: any good answer proves that there is a quorum. */
async function probe(members: Members, timeoutMs: number): Promise<void> {
  const message = range.encode(headRequest);
  const ask = async (member: Member): Promise<void> => {
    await member.transport.unary(range.path, message, { timeoutMs, requireLeader: true });
    members.served(member);
  };
  await Promise.any(members.all.map(ask));
}

function lacksReporter(report: (event: EtcdEvent) => void): (member: Member, version: string) => void {
  return ({ endpoint }, version) => {
    for (const [capability, present] of Object.entries(capabilitiesOf(version))) {
      if (!present) report({ type: 'lacks', endpoint, version, capability });
    }
  };
}
