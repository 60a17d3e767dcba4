/**
 * Checks that a member has the known history, and a supported version, before any request uses a connection to it. An etcd whose data were replaced
 * is another process, so a changed history always comes with a new connection.
 *
 * A lagging member is no problem, because the check is a linearizable read: its response is as fresh as everything that
 * was acknowledged before.
 */
import type { Clock } from '@cluster-apiserver/base';
import { equalsBytes } from '../pieces.ts';
import { isCompacted, isFutureRevision } from './faults.ts';
import { unavailableCode } from './grpc-status.ts';
import type { EtcdEvent } from './etcd-event.ts';
import type { Anchor, History, HistoryReplaced } from './history.ts';
import type { Member, Members } from './members.ts';
import { EtcdFault } from './transport.ts';
import { type KeyValue, type RangeRequest, type RangeResponse, range } from './wire/key-value.ts';
import type { ClusterId, ResponseHeader } from './wire/rpc.ts';
import { isTooOld, oldestVersion } from './supported-version.ts';
import { type MemberStatus, memberStatus } from './wire/status.ts';

export type UnusedMember = Extract<EtcdEvent, { readonly type: 'foreign member' | 'old member' }>;

export interface VerificationOptions {
  readonly clock: Clock;
  readonly electionTimeoutMs: number;
  readonly members: Members;
  readonly history: History;
  /** Reads any key that the server may read; it need not exist. */
  readonly latestRevisionRequest: RangeRequest;
  /** Receives which members are not used, once each. */
  readonly report: (event: UnusedMember) => void;
  readonly onVerified: () => void;
}

/** In election timeouts: a live member reports its cluster quickly, with or without a leader. */
const statusTimeoutElections = 0.4;

export class Verification {
  readonly #options: VerificationOptions;
  readonly #statusTimeoutMs: number;
  readonly #reported = new Set<string>();
  readonly #running = new Map<Member, { readonly connection: number; readonly done: Promise<void> }>();

  constructor(options: VerificationOptions) {
    this.#options = options;
    this.#statusTimeoutMs = options.electionTimeoutMs * statusTimeoutElections;
  }

  /** Whether a request that is sent in this event-loop iteration uses a verified connection. */
  isVerified(member: Member): boolean {
    return member.verifiedConnection !== 0 && member.verifiedConnection === member.transport.connectionNumber;
  }

  /** Concurrent callers share one check, each with its own timeout. Rejects with an EtcdFault. */
  verify(member: Member, timeoutMs: number): Promise<void> {
    const { connectionNumber } = member.transport;
    const running = this.#running.get(member);
    if (running?.connection === connectionNumber) return this.#awaitVerification(running.done, member, timeoutMs);
    const done = this.#verify(member, connectionNumber, timeoutMs).finally(() => {
      if (this.#running.get(member)?.done === done) this.#running.delete(member);
    });
    this.#running.set(member, { connection: connectionNumber, done });
    return this.#awaitVerification(done, member, timeoutMs);
  }

  #awaitVerification(done: Promise<void>, member: Member, timeoutMs: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () => reject(unsent(member, 'did not show its history in time')));
      done.then(resolve, reject).finally(cancel);
    });
  }

  async #verify(member: Member, connection: number, timeoutMs: number): Promise<void> {
    const { history, members, onVerified } = this.#options;
    const { number, revision: seenRevision } = history;
    const [{ header, difference }, { version }] = await Promise.all([
      this.#readAnchor(member, history, timeoutMs),
      readStatus(member, timeoutMs),
    ]);
    if (isTooOld(version)) throw this.#tooOld(member, version);
    if (history.number !== number) throw unsent(member, 'was asked about a history that is no more');
    if (history.clusterId === undefined) {
      await this.#requireNotOutvoted(member, header.clusterId);
      history.clusterId ??= header.clusterId;
    }
    const reason = detectReplacement(header, history.clusterId, seenRevision, difference);
    if (reason === 'cluster id' && !(await this.#isMajorityCluster(header.clusterId))) throw this.#foreign(member);
    if (reason && history.number === number) {
      for (const one of members.all) one.verifiedConnection = 0;
      history.replace(reason, header);
    }
    if (header.clusterId !== history.clusterId) return;
    history.noteRevision(header.revision, history.number);
    member.verifiedConnection = connection;
    onVerified();
  }

  /**
   * Reads the latest value that is known, at its revision: another history has something else there, or has not got there
   * yet. If that revision is compacted, the latest known one may be, too: then everything that is known is void. Without
   * such a value the revision of the response is all there is to compare.
   */
  async #readAnchor(
    member: Member,
    history: History,
    timeoutMs: number,
  ): Promise<{ header: ResponseHeader; difference: Difference | undefined }> {
    const { latestRevisionRequest } = this.#options;
    const { anchor } = history;
    const read = async (request: RangeRequest): Promise<RangeResponse> =>
      range.decode(await member.transport.unary(range.path, range.encode(request), { timeoutMs, requireLeader: true }));
    const readLatest = async (): Promise<ResponseHeader> => (await read(latestRevisionRequest)).header;
    if (!anchor) return { header: await readLatest(), difference: undefined };
    try {
      const { header, values } = await read({ key: anchor.key, revision: anchor.modRevision });
      const isSame = values.some((found) => hasSameContent(anchor, found));
      return { header, difference: isSame ? undefined : 'content' };
    } catch (fault) {
      // A future revision proves another history, even if the next response is of a later one, because of other writes.
      if (isFutureRevision(fault)) return { header: await readLatest(), difference: 'content' };
      if (!isCompacted(fault)) throw fault;
    }
    for (;;) {
      const known = history.revision;
      try {
        return {
          header: (await read({ ...latestRevisionRequest, revision: known })).header,
          difference: undefined,
        };
      } catch (fault) {
        if (isFutureRevision(fault)) return { header: await readLatest(), difference: 'content' };
        if (!isCompacted(fault)) throw fault;
        const header = await readLatest();
        // Other members may have shown later revisions meanwhile.
        if (history.revision <= known) return { header, difference: 'compacted' };
      }
    }
  }

  /** The very first member could be the foreign one, so it is compared with all members that respond. */
  async #requireNotOutvoted(member: Member, clusterId: ClusterId): Promise<void> {
    const reported = this.#options.members.all.length > 1 ? await this.#readClusterIds() : [];
    const votesFor = (id: ClusterId | undefined): number => reported.filter((one) => one === id).length;
    const votes = Math.max(1, votesFor(clusterId));
    if (reported.some((id) => id !== undefined && votesFor(id) > votes)) throw this.#foreign(member);
  }

  /**
   * A single endpoint may lead to a wrong cluster. A cluster that has replaced the known one is behind most endpoints:
   * without a majority it would not serve.
   */
  async #isMajorityCluster(candidate: ClusterId): Promise<boolean> {
    const reported = await this.#readClusterIds();
    return reported.filter((id) => id === candidate).length > this.#options.members.all.length / 2;
  }

  #foreign(member: Member): EtcdFault {
    this.#reportOnce({ type: 'foreign member', endpoint: member.endpoint });
    return unsent(member, 'belongs to another cluster than the others');
  }

  #tooOld(member: Member, version: string): EtcdFault {
    this.#reportOnce({ type: 'old member', endpoint: member.endpoint, version });
    return unsent(member, `runs etcd ${version}, which is older than ${oldestVersion}`);
  }

  #reportOnce(event: UnusedMember): void {
    const name = `${event.type} ${event.endpoint}`;
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#options.report(event);
  }

  /** The cluster ID that each member reports; undefined for one that does not respond. */
  #readClusterIds(): Promise<(ClusterId | undefined)[]> {
    return Promise.all(
      this.#options.members.all.map((member) =>
        readStatus(member, this.#statusTimeoutMs).then(
          ({ clusterId }) => clusterId,
          () => undefined,
        ),
      ),
    );
  }
}

async function readStatus({ transport }: Member, timeoutMs: number): Promise<MemberStatus> {
  const options = { timeoutMs, requireLeader: false };
  return memberStatus.decode(await transport.unary(memberStatus.path, memberStatus.encode(), options));
}

type Difference = Extract<HistoryReplaced['reason'], 'content' | 'compacted'>;

const hasSameContent = ({ modRevision, value }: Anchor, found: KeyValue): boolean =>
  found.modRevision === modRevision && equalsBytes(Buffer.isBuffer(value) ? [value] : value, found.value);

function detectReplacement(
  { clusterId, revision }: ResponseHeader,
  knownClusterId: ClusterId,
  seenRevision: number,
  difference: Difference | undefined,
): HistoryReplaced['reason'] | undefined {
  if (clusterId !== knownClusterId) return 'cluster id';
  if (revision < seenRevision) return 'revision';
  return difference;
}

const unsent = ({ endpoint }: Member, why: string): EtcdFault =>
  new EtcdFault('unsent', unavailableCode, `${endpoint} ${why}`);
