/**
 * No request goes over a connection before the member has shown that it has the history that we know. An etcd whose
 * data were replaced is another process, so whatever can differ comes with a new connection; and nothing that was
 * decided upon the old data reaches the new ones.
 *
 * A member that lags is told apart because the question goes through a quorum: its answer is as new as everything that
 * was answered before it was asked.
 */
import type { Clock } from '@cluster-apiserver/base';
import { isCompacted, isFutureRevision } from './faults.ts';
import type { History, HistoryReplaced } from './history.ts';
import type { Member, Members } from './members.ts';
import { EtcdFault } from './transport.ts';
import type { ClusterId, ResponseHeader } from './wire/fields.ts';
import { type KeyValue, type RangeResponse, type RangeRequest, range } from './wire/key-value.ts';
import { memberStatus } from './wire/status.ts';

export interface VerificationOptions {
  readonly clock: Clock;
  readonly electionTimeoutMs: number;
  readonly members: Members;
  readonly history: History;
  /** Any key will do; it need not exist, and we must be allowed to read it. */
  readonly headRequest: RangeRequest;
  /** A member of another cluster than the others answered under its endpoint, and is not used. */
  readonly onForeignMember: (member: Member) => void;
  readonly onVerified: () => void;
}

/** In election timeouts: a member that is alive tells its cluster quickly, with or without a leader. */
const statusTimeoutElections = 0.4;

const unavailableCode = 14;

export class Verification {
  readonly #clock: Clock;
  readonly #statusTimeoutMs: number;
  readonly #members: Members;
  readonly #history: History;
  readonly #headRequest: RangeRequest;
  readonly #foreign: (member: Member) => void;
  readonly #verified: () => void;
  readonly #running = new Map<Member, { readonly connection: number; readonly done: Promise<void> }>();

  constructor({
    clock,
    electionTimeoutMs,
    members,
    history,
    headRequest,
    onForeignMember: foreign,
    onVerified: verified,
  }: VerificationOptions) {
    this.#clock = clock;
    this.#statusTimeoutMs = electionTimeoutMs * statusTimeoutElections;
    this.#members = members;
    this.#history = history;
    this.#headRequest = headRequest;
    this.#foreign = foreign;
    this.#verified = verified;
  }

  /** What is asked in the same turn goes over a verified connection. */
  isVerified(member: Member): boolean {
    return member.verifiedConnection !== 0 && member.verifiedConnection === member.transport.connectionNumber;
  }

  /** All who want the same connection share one question, each for its own time. Rejects with an EtcdFault. */
  verify(member: Member, timeoutMs: number): Promise<void> {
    const { connectionNumber: connection } = member.transport;
    const running = this.#running.get(member);
    if (running?.connection === connection) return this.#awaitVerification(running.done, member, timeoutMs);
    const done = this.#verify(member, connection, timeoutMs).finally(() => {
      if (this.#running.get(member)?.done === done) this.#running.delete(member);
    });
    this.#running.set(member, { connection, done });
    return this.#awaitVerification(done, member, timeoutMs);
  }

  #awaitVerification(done: Promise<void>, member: Member, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(timeoutMs, () => reject(unsent(member, 'did not show its history in time')));
      done.then(resolve, reject).finally(cancel);
    });
  }

  async #verify(member: Member, connection: number, timeoutMs: number): Promise<void> {
    const history = this.#history;
    const { number, revision: seen } = history;
    const { header, sameContent } = await this.#readAnchor(member, history.anchor, timeoutMs);
    if (history.number !== number) throw unsent(member, 'was asked about a history that is no more');
    if (history.clusterId === undefined) {
      // The first one could be the stranger: whoever is outvoted by those who answer is not believed.
      const told = this.#members.all.length > 1 ? await this.#clusterIds() : [];
      const votes = (id: ClusterId | undefined): number => told.filter((one) => one === id).length;
      if (told.some((id) => id !== undefined && votes(id) > Math.max(1, votes(header.clusterId)))) {
        this.#foreign(member);
        throw unsent(member, 'belongs to another cluster than the others');
      }
      history.clusterId ??= header.clusterId;
    }
    const reason = detectReplacement(header, history.clusterId, seen, sameContent);
    if (reason === 'cluster id' && !(await this.#isMajorityCluster(header.clusterId))) {
      this.#foreign(member);
      throw unsent(member, 'belongs to another cluster than the others');
    }
    if (reason && history.number === number) {
      for (const one of this.#members.all) one.verifiedConnection = 0;
      history.replace(reason, header);
    }
    history.noteRevision(header.revision);
    if (header.clusterId !== history.clusterId) return;
    member.verifiedConnection = connection;
    this.#verified();
  }

  /** The newest revision, and whether what we know to have been written is there at its revision. */
  async #readAnchor(
    member: Member,
    anchor: KeyValue | undefined,
    timeoutMs: number,
  ): Promise<{ header: ResponseHeader; sameContent: boolean }> {
    const ask = async (request: RangeRequest): Promise<RangeResponse> =>
      range.decode(await member.transport.unary(range.path, range.encode(request), { timeoutMs, requireLeader: true }));
    if (anchor) {
      try {
        const { header, values } = await ask({ key: anchor.key, revision: anchor.modRevision });
        const [there] = values;
        const sameContent = there?.modRevision === anchor.modRevision && there.value.equals(anchor.value);
        return { header, sameContent };
      } catch (fault) {
        // A revision that is compacted tells nothing, and one of the future tells it by the revision of the answer below.
        if (!isCompacted(fault) && !isFutureRevision(fault)) throw fault;
      }
    }
    return { header: (await ask(this.#headRequest)).header, sameContent: true };
  }

  /**
   * One endpoint may lead to a wrong place, while the others do not or are silent. A cluster that took the place of the
   * one that we know is behind most of them: without a majority it would not serve.
   */
  async #isMajorityCluster(candidate: ClusterId): Promise<boolean> {
    const told = await this.#clusterIds();
    return told.filter((id) => id === candidate).length > this.#members.all.length / 2;
  }

  /** What each member says; undefined for one that does not answer. */
  #clusterIds(): Promise<(ClusterId | undefined)[]> {
    const options = { timeoutMs: this.#statusTimeoutMs, requireLeader: false };
    return Promise.all(
      this.#members.all.map(({ transport }) =>
        transport.unary(memberStatus.path, memberStatus.encode(), options).then(
          (answer) => memberStatus.decode(answer).clusterId,
          () => undefined,
        ),
      ),
    );
  }
}

function detectReplacement(
  { clusterId, revision }: ResponseHeader,
  known: ClusterId,
  seen: number,
  sameContent: boolean,
): HistoryReplaced['reason'] | undefined {
  if (clusterId !== known) return 'cluster id';
  if (revision < seen) return 'revision';
  return sameContent ? undefined : 'content';
}

const unsent = ({ endpoint }: Member, why: string): EtcdFault =>
  new EtcdFault('unsent', unavailableCode, `${endpoint} ${why}`);
