/**
 * What we know of each member from its own answers. Two different questions are asked of it: which member to try next,
 * and whether so many members are silent that no leader can exist.
 */
import type { Connect, Transport } from './transport.ts';
import type { WakingTime } from './waking-time.ts';
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
  served(member: Member): void;
  /** It gave none, or a refusal that another member may not give. */
  failed(member: Member, answered: boolean): void;
  /**
   * True while more than half of the members have shown signs of life in the last second. Only then can there be a
   * leader, and a wait for an election has a point.
   */
  majorityAnswers(): boolean;
  /** Asks every member how it is, unless that was done just now. Returns at once; the answers come in later. */
  survey(): void;
  close(): void;
}

/** How long an answer counts as a sign of life. */
const signOfLifeMs = 1_000;

/** A member that answered this recently is not asked again. */
const surveyFreshMs = 250;

/** A member that is alive tells its status in a few milliseconds, with or without a leader. */
const surveyTimeoutMs = 400;

interface MutableMember extends Member {
  version: string | undefined;
  answeredMs: number;
  /** When it failed last without having served since; -1 for a member in good standing. */
  failedMs: number;
  silent: boolean;
  surveyed: boolean;
}

/** Called when a member has told its version for the first time, or another one than before. */
export type Identified = (member: Member, version: string) => void;

export function trackMembers(
  endpoints: readonly string[],
  connect: Connect,
  time: WakingTime,
  identified: Identified,
): Members {
  const all: readonly MutableMember[] = endpoints.map((endpoint) => ({
    endpoint,
    transport: connect(endpoint),
    version: undefined,
    verifiedConnection: 0,
    answeredMs: Number.NEGATIVE_INFINITY,
    failedMs: -1,
    silent: false,
    surveyed: false,
  }));
  let current = all[0] as MutableMember;
  // Members are only ever handed out from `all`, so each one that comes back is one of ours.
  const ours = (member: Member): MutableMember => member as MutableMember;
  const answered = (member: MutableMember): void => {
    member.answeredMs = time.nowMs();
    member.silent = false;
  };

  return {
    all,
    choose: () => {
      if (current.failedMs < 0) return current;
      current = all.reduce((best, member) => (likelier(member, best) ? member : best));
      return current;
    },
    served: (member) => {
      answered(ours(member));
      ours(member).failedMs = -1;
    },
    failed: (member, didAnswer) => {
      ours(member).failedMs = time.nowMs();
      // Earlier signs of life stay valid for their second: a write that hangs for want of a leader says nothing else.
      if (didAnswer) answered(ours(member));
      else ours(member).silent = true;
    },
    majorityAnswers: () => {
      const since = time.nowMs() - signOfLifeMs;
      return all.filter((member) => member.answeredMs >= since).length > all.length / 2;
    },
    survey: () => {
      const fresh = time.nowMs() - surveyFreshMs;
      for (const member of all) if (!member.surveyed && member.answeredMs < fresh) void ask(member);
    },
    close: () => {
      for (const member of all) member.transport.close();
    },
  };

  async function ask(member: MutableMember): Promise<void> {
    member.surveyed = true;
    const dueMs = time.nowMs() + surveyTimeoutMs;
    try {
      const options = { timeoutMs: surveyTimeoutMs, requireLeader: false };
      const status = memberStatus.decode(
        await member.transport.unary(memberStatus.path, memberStatus.encode(), options),
      );
      if (member.version !== status.version) identified(member, status.version);
      member.version = status.version;
      answered(member);
    } catch {
      // No sign of life is what the silence says by itself, unless it was ours.
      time.wasDue(dueMs);
    } finally {
      member.surveyed = false;
    }
  }
}

function likelier(member: MutableMember, than: MutableMember): boolean {
  if (member.silent !== than.silent) return !member.silent;
  return member.failedMs < than.failedMs;
}
