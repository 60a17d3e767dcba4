/**
 * The state of each member by its own responses. It decides which member to try next, and whether so many are silent that
 * there can be no leader.
 */
import { type Clock, type Random, requireValue, sleep } from '@cluster-apiserver/base';
import type { Connect, Transport } from './transport.ts';
import type { StallAwareClock } from './stall-aware-clock.ts';
import { memberStatus } from './wire/status.ts';

export interface Member {
  readonly endpoint: string;
  readonly transport: Transport;
  /** The number of the connection on which its history was verified; 0 for none. */
  verifiedConnection: number;
}

// The following are in election timeouts, because a network with slow elections has slow responses too.

/** How long a response shows that the member is alive. */
const responsiveElections = 1;

/** A member that has responded this recently is not probed. */
const probeFreshElections = 0.25;

/** A failure that is older than this does not count. Otherwise all replicas would end at one member after a rolling restart. */
const forgottenElections = 5;

/** A live member reports its status quickly, with or without a leader. */
const probeTimeoutElections = 0.4;

/** A silent member is probed again after this. It is not used until it responds. */
const probeAgainElections = 5;

interface MutableMember extends Member {
  respondedMs: number;
  /** When it last failed without a success since; -1 after a success. */
  failedMs: number;
  isSilent: boolean;
  isProbed: boolean;
  /** Whether it is probed again after a pause. */
  isProbeScheduled: boolean;
}

export interface MembersOptions {
  readonly endpoints: readonly string[];
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  readonly stallAwareClock: StallAwareClock;
  readonly electionTimeoutMs: number;
}

export class Members {
  readonly all: readonly MutableMember[];
  readonly #states: ReadonlyMap<Member, MutableMember>;
  readonly #options: MembersOptions;
  readonly #closing = new AbortController();
  #current: MutableMember;

  constructor(options: MembersOptions) {
    const { endpoints, connect, random } = options;
    this.#options = options;
    this.all = endpoints.map((endpoint) => ({
      endpoint,
      transport: connect(endpoint),
      verifiedConnection: 0,
      respondedMs: Number.NEGATIVE_INFINITY,
      failedMs: -1,
      isSilent: false,
      isProbed: false,
      isProbeScheduled: false,
    }));
    this.#states = new Map(this.all.map((member) => [member, member]));
    // If all replicas started with the first member, it would get all requests.
    this.#current = requireValue(this.all[random.below(this.all.length)], 'there is at least one endpoint');
  }

  /** The member to try now: the last one while it works, else the most promising of the others. */
  choose(): Member {
    if (this.#current.failedMs >= 0) {
      const candidates = mostPromising(this.all, this.#nowMs() - this.#toMs(forgottenElections));
      this.#current = requireValue(
        candidates[this.#options.random.below(candidates.length)],
        'at least one is the best',
      );
    }
    return this.#current;
  }

  /** The member has responded successfully, now unless the caller has just read the clock. */
  noteSuccess(member: Member, nowMs?: number): void {
    const state = this.#stateOf(member);
    this.#noteResponse(state, nowMs);
    state.failedMs = -1;
  }

  /** The member has not responded, or has refused something that another member may not refuse. */
  noteFailure(member: Member, hasResponded: boolean): void {
    const state = this.#stateOf(member);
    state.failedMs = this.#nowMs();
    // Earlier responses stay valid for a while: a write also times out if there is no leader.
    if (hasResponded) this.#noteResponse(state);
    else state.isSilent = true;
  }

  /** Whether a majority of the members has responded recently. Only then can there be a leader, or be one elected. */
  majorityResponds(nowMs: number): boolean {
    const since = nowMs - this.#toMs(responsiveElections);
    return this.all.filter((member) => member.respondedMs >= since).length > this.all.length / 2;
  }

  /** Reads the status of every member, unless it has just responded. Returns at once; the results arrive later. */
  probeAll(): void {
    const fresh = this.#nowMs() - this.#toMs(probeFreshElections);
    for (const member of this.all)
      if (!member.isProbed && (member.isSilent || member.respondedMs < fresh)) void this.#probe(member);
  }

  close(): void {
    this.#closing.abort();
    for (const member of this.all) member.transport.close();
  }

  async #probe(member: MutableMember): Promise<void> {
    const { stallAwareClock } = this.#options;
    const timeoutMs = this.#toMs(probeTimeoutElections);
    member.isProbed = true;
    const dueMs = this.#nowMs() + timeoutMs;
    try {
      await member.transport.unary(memberStatus.path, memberStatus.encode(), { timeoutMs, requireLeader: false });
      this.#noteResponse(member);
    } catch {
      // Without a response the member's last one grows old, unless this process has stalled.
      stallAwareClock.noteTimerFired(dueMs);
      if (member.isSilent) this.#probeLater(member);
    } finally {
      member.isProbed = false;
    }
  }

  /** Once for all probes that fail meanwhile: a member that refuses connections fails thousands within a second. */
  #probeLater(member: MutableMember): void {
    if (member.isProbeScheduled) return;
    member.isProbeScheduled = true;
    sleep(this.#options.clock, this.#toMs(probeAgainElections), this.#closing.signal).then(
      () => {
        member.isProbeScheduled = false;
        if (!member.isProbed && member.isSilent) void this.#probe(member);
      },
      () => {}, // closed
    );
  }

  #noteResponse(member: MutableMember, nowMs = this.#nowMs()): void {
    member.respondedMs = nowMs;
    member.isSilent = false;
  }

  #stateOf(member: Member): MutableMember {
    return requireValue(this.#states.get(member), 'callers have members from `all`');
  }

  #nowMs(): number {
    return this.#options.stallAwareClock.nowMs();
  }

  #toMs(elections: number): number {
    return elections * this.#options.electionTimeoutMs;
  }
}

/**
 * Of the members that are not silent, or else of all, those whose last failure is the longest ago. A forgotten failure is
 * as good as none.
 */
function mostPromising(members: readonly MutableMember[], forgottenMs: number): readonly MutableMember[] {
  const responsive = members.filter(({ isSilent }) => !isSilent);
  const candidates = responsive.length > 0 ? responsive : members;
  const failureOf = ({ failedMs }: MutableMember): number => Math.max(failedMs, forgottenMs);
  const earliest = Math.min(...candidates.map(failureOf));
  return candidates.filter((member) => failureOf(member) === earliest);
}
