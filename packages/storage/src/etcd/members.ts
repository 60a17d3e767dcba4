/**
 * What we know of each member from its own answers. Two different questions are asked of it: which member to try next,
 * and whether so many members are silent that no leader can exist.
 */
import { type Clock, type Random, sleep } from '@cluster-apiserver/base';
import type { Connect, Transport } from './transport.ts';
import type { StallAwareClock } from './stall-aware-clock.ts';
import { memberStatus } from './wire/status.ts';

export interface Member {
  readonly endpoint: string;
  readonly transport: Transport;
  /** Such as 3.5.16; undefined until the member has told. */
  readonly version: string | undefined;
  /** The number of the connection over which it showed that it has the history that we know; 0 for none. */
  verifiedConnection: number;
}

export interface Members {
  readonly all: readonly Member[];
  /** The member to try now: the one that served last while it serves, else the likeliest of the others. */
  choose(): Member;
  /** It gave a good answer. */
  noteSuccess(member: Member): void;
  /** It gave none, or a refusal that another member may not give. */
  noteFailure(member: Member, answered: boolean): void;
  /**
   * True while more than half of the members have shown signs of life in the last second. Only then can there be a
   * leader, and a wait for an election has a point.
   */
  majorityResponds(): boolean;
  /** Asks every member how it is, unless that was done just now. Returns at once; the answers come in later. */
  probeAll(): void;
  close(): void;
}

/** All in election timeouts: networks that make elections slow make answers slow too. */
/** How long an answer counts as a sign of life. */
const responsiveElections = 1;

/** A member that answered this recently is not asked again. */
const probeFreshElections = 0.25;

/** A member that is alive tells its status quickly, with or without a leader. */
const probeTimeoutElections = 0.4;

/** One that has not told its version yet is asked again after this. */
const versionRetryElections = 5;

interface MutableMember extends Member {
  version: string | undefined;
  respondedMs: number;
  /** When it failed last without having served since; -1 for a member in good standing. */
  failedMs: number;
  isSilent: boolean;
  isProbed: boolean;
}

/** Called when a member has told its version for the first time, or another one than before. */
export type OnVersion = (member: Member, version: string) => void;

export interface MembersOptions {
  readonly endpoints: readonly string[];
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  readonly stallAwareClock: StallAwareClock;
  readonly electionTimeoutMs: number;
  readonly onVersion: OnVersion;
}

export function trackMembers(options: MembersOptions): Members {
  const {
    endpoints,
    connect,
    clock,
    random,
    stallAwareClock: time,
    electionTimeoutMs,
    onVersion: identified,
  } = options;
  const responsiveMs = responsiveElections * electionTimeoutMs;
  const probeFreshMs = probeFreshElections * electionTimeoutMs;
  const probeTimeoutMs = probeTimeoutElections * electionTimeoutMs;
  const closing = new AbortController();
  const all: readonly MutableMember[] = endpoints.map((endpoint) => ({
    endpoint,
    transport: connect(endpoint),
    version: undefined,
    verifiedConnection: 0,
    respondedMs: Number.NEGATIVE_INFINITY,
    failedMs: -1,
    isSilent: false,
    isProbed: false,
  }));
  // Replicas that all began with the first one would all ask the same.
  let current = all[random.below(all.length)] as MutableMember;
  // Members are only ever handed out from `all`, so each one that comes back is one of ours.
  const asMutable = (member: Member): MutableMember => member as MutableMember;
  const answered = (member: MutableMember): void => {
    member.respondedMs = time.nowMs();
    member.isSilent = false;
  };

  return {
    all,
    choose: () => {
      if (current.failedMs < 0) return current;
      current = all.reduce((best, member) => (isPreferable(member, best) ? member : best));
      return current;
    },
    noteSuccess: (member) => {
      answered(asMutable(member));
      asMutable(member).failedMs = -1;
    },
    noteFailure: (member, didAnswer) => {
      asMutable(member).failedMs = time.nowMs();
      // Earlier signs of life stay valid for their second: a write that hangs for want of a leader says nothing else.
      if (didAnswer) answered(asMutable(member));
      else asMutable(member).isSilent = true;
    },
    majorityResponds: () => {
      const since = time.nowMs() - responsiveMs;
      return all.filter((member) => member.respondedMs >= since).length > all.length / 2;
    },
    probeAll: () => {
      const fresh = time.nowMs() - probeFreshMs;
      for (const member of all) if (!member.isProbed && member.respondedMs < fresh) void probe(member);
    },
    close: () => {
      closing.abort();
      for (const member of all) member.transport.close();
    },
  };

  async function probe(member: MutableMember): Promise<void> {
    member.isProbed = true;
    const dueMs = time.nowMs() + probeTimeoutMs;
    try {
      const options = { timeoutMs: probeTimeoutMs, requireLeader: false };
      const status = memberStatus.decode(
        await member.transport.unary(memberStatus.path, memberStatus.encode(), options),
      );
      if (member.version !== status.version) identified(member, status.version);
      member.version = status.version;
      answered(member);
    } catch {
      // No sign of life is what the silence says by itself, unless it was ours.
      time.noteTimerFired(dueMs);
      if (member.version === undefined) probeLater(member);
    } finally {
      member.isProbed = false;
    }
  }

  /** What it can do is known only when it has told its version. */
  function probeLater(member: MutableMember): void {
    sleep(clock, versionRetryElections * electionTimeoutMs, closing.signal).then(
      () => {
        if (!member.isProbed && member.version === undefined) void probe(member);
      },
      () => {}, // closed
    );
  }
}

function isPreferable(member: MutableMember, than: MutableMember): boolean {
  if (member.isSilent !== than.isSilent) return !member.isSilent;
  return member.failedMs < than.failedMs;
}
