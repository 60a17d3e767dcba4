/**
 * The writes of this replica, and what its feed says of them. The feed delivers every change of every key in etcd's order.
 * So a value that this replica has written itself need not be decrypted or decoded when it comes back, and the outcome of a
 * write whose response was lost becomes known: see `create-once.ts` and `replace-once.ts`.
 */
import { StorageUnavailableError } from '../errors.ts';
import { equalsBytes, totalLength, type Pieces } from '../pieces.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import type { ProgressRequester } from './progress.ts';

/** Beyond this the contents of the oldest writes are dropped, as when no feed delivers them. */
const contentBytesMax = 8 * 1024 * 1024;

/** What a value was written from. */
export interface WrittenContent {
  readonly value: Buffer;
  readonly source: object | undefined;
}

/**
 * Which change the feed delivered: this write, or another one that made it impossible; `missed` if it may have been among
 * changes that the feed has skipped.
 */
export type Proof = { readonly applied: number } | 'overtaken' | 'missed';

/** What is written, and which changes of its key can be this write. */
export interface OwnWriteOptions {
  readonly key: string;
  /** The change is later than this revision. */
  readonly after: number;
  /** Whether the next change of the key is this write or rules it out; otherwise any later one can be it. */
  readonly isNext: boolean;
  /** Undefined for a deletion. */
  readonly stored: Pieces | undefined;
  readonly content: WrittenContent | undefined;
}

/** A write, from before it is sent until the feed has delivered it or it has failed. */
export class OwnWrite {
  readonly key: string;
  readonly after: number;
  readonly isNext: boolean;
  readonly stored: Pieces | undefined;
  /** The memory that its content uses. */
  readonly bytes: number;
  /** Dropped with the write: V8 may keep deleted entries of a map for a while, see docs/decisions/0055-memory.md. */
  content: WrittenContent | undefined;
  proof: Proof | undefined;
  /** When it began, by the stall-aware clock: all its calls share one retry budget. */
  readonly sinceMs: number;
  /** Whether its outcome is known: then only its content is needed. */
  isEnded = false;
  /** An earlier write of the same key. */
  earlier: OwnWrite | undefined;

  constructor({ key, after, isNext, stored, content }: OwnWriteOptions, sinceMs: number) {
    this.key = key;
    this.sinceMs = sinceMs;
    this.after = after;
    this.isNext = isNext;
    this.stored = stored;
    this.content = content;
    this.bytes = content ? totalLength(stored ?? []) + content.value.length : 0;
  }

  /**
   * Whether the change of its key can be this write. Two writers that replace the same revision by the same bytes, or both
   * delete it, are twins: it makes no difference to either whose change it was, so both count as applied.
   */
  isSame(value: Buffer | undefined): boolean {
    const { stored } = this;
    return stored === undefined || value === undefined ? stored === value : equalsBytes(stored, value);
  }
}

/** The feed delivers what etcd has confirmed within milliseconds, unless its member is lost: then it needs another one. */
const proofElectionsMax = 1.5;
const progressMs = 20;
/**
 * A feed that makes no progress for so long continues at another member. A member has reported the awaited revision, so the
 * member of the feed lags behind, has no leader any more, or is silent.
 */
const silentElections = 0.45;

export class OwnWrites {
  readonly #client: EtcdClient;
  readonly #progress: Pick<ProgressRequester, 'request' | 'restartWatches'>;
  /** The latest write of each key. */
  readonly #byKey = new Map<string, OwnWrite>();
  #contentBytes = 0;
  #isFollowed = false;
  /** The feed has delivered everything up to this revision. */
  #delivered = 0;
  /** How many writes are being proved. */
  #proofs = 0;
  /** Where a proof has last seen the feed, and since when it has been there or has been restarted. */
  #seen = 0;
  #silentSinceMs = 0;

  constructor(client: EtcdClient, progress: Pick<ProgressRequester, 'request' | 'restartWatches'>) {
    this.#client = client;
    this.#progress = progress;
    client.history.onReplaced(() => {
      this.#miss(Number.POSITIVE_INFINITY);
      this.#delivered = 0;
    });
  }

  /** `sinceMs`: when the first of several writes began that share one retry budget. */
  begin(options: OwnWriteOptions, sinceMs = this.#client.stallAwareClock.nowMs()): OwnWrite {
    const write = new OwnWrite(options, sinceMs);
    write.earlier = this.#byKey.get(write.key);
    this.#byKey.set(write.key, write);
    this.#contentBytes += write.bytes;
    if (this.#contentBytes > contentBytesMax) this.#dropOldest();
    return write;
  }

  /** The outcome is known, or never will be. An applied write waits for the feed, which then needs not decrypt it. */
  end(write: OwnWrite, isApplied: boolean): void {
    write.isEnded = true;
    if (!isApplied || !write.content) this.#remove(write);
  }

  /** The feed begins after a revision. It proves nothing of writes that may be among the changes that it has skipped. */
  beginFeed(after: number): void {
    this.#isFollowed = true;
    if (after > this.#delivered) this.#miss(after);
  }

  /** The feed has delivered everything up to this revision, each change with `note` before. */
  advance(to: number): void {
    this.#delivered = to;
  }

  /** The feed delivers a change; `value` is undefined for a deletion. Returns what it was written from, if it is known. */
  note(key: string, at: number, value: Buffer | undefined): WrittenContent | undefined {
    let content: WrittenContent | undefined;
    for (let write = this.#byKey.get(key); write; write = write.earlier) {
      if (at <= write.after) continue;
      if (write.isSame(value)) {
        write.proof = { applied: at };
        content ??= write.content;
      } else if (write.isNext) write.proof = 'overtaken';
      if (write.proof) this.#remove(write);
    }
    return content;
  }

  /**
   * What the feed says of a write, once it has delivered everything up to a revision. Undefined if none of these changes was
   * the write, or ruled it out. Throws if the feed does not get there in time, or has skipped changes.
   */
  async prove(write: OwnWrite, upTo: number, call: Call): Promise<Exclude<Proof, 'missed'> | undefined> {
    const { clock, stallAwareClock, electionTimeoutMs } = this.#client;
    const untilMs = stallAwareClock.nowMs() + proofElectionsMax * electionTimeoutMs;
    if (this.#proofs++ === 0) this.#silentSinceMs = stallAwareClock.nowMs();
    try {
      while (!write.proof && this.#delivered < upTo) {
        const nowMs = stallAwareClock.nowMs();
        const leftMs = Math.min(untilMs - nowMs, call.deadlineMs - clock.monotonicMs());
        if (!this.#isFollowed || leftMs <= 0 || this.#client.budgetLeftMs(write.sinceMs) <= 0)
          throw new StorageUnavailableError('the watch did not report the outcome of a write in time');
        this.#restartIfSilent(nowMs);
        this.#progress.request();
        await stallAwareClock.sleep(Math.min(leftMs, progressMs));
      }
    } finally {
      this.#proofs--;
    }
    if (write.proof === 'missed') throw new StorageUnavailableError('the watch has skipped the outcome of a write');
    return write.proof;
  }

  /** For all proofs together: otherwise each would end the connection that another one has just begun to wait for. */
  #restartIfSilent(nowMs: number): void {
    if (this.#delivered !== this.#seen) {
      this.#seen = this.#delivered;
      this.#silentSinceMs = nowMs;
    } else if (nowMs - this.#silentSinceMs >= this.#client.electionTimeoutMs * silentElections) {
      this.#silentSinceMs = nowMs;
      this.#progress.restartWatches();
    }
  }

  #miss(skippedTo: number): void {
    for (const write of [...this.#all()]) {
      if (write.after >= skippedTo) continue;
      write.proof = 'missed';
      this.#remove(write);
    }
    this.#delivered = skippedTo;
  }

  /** Key by key; those of one key from the latest to the earliest. */
  *#all(): Generator<OwnWrite> {
    for (let write of this.#byKey.values())
      for (; ; write = write.earlier) {
        yield write;
        if (!write.earlier) break;
      }
  }

  #dropOldest(): void {
    for (const write of this.#all()) {
      this.#dropContent(write);
      if (this.#contentBytes <= contentBytesMax) return;
    }
  }

  #dropContent(write: OwnWrite): void {
    if (!write.content) return;
    write.content = undefined;
    this.#contentBytes -= write.bytes;
    if (write.isEnded) this.#remove(write);
  }

  #remove(write: OwnWrite): void {
    const { key, earlier } = write;
    let later: OwnWrite | undefined;
    for (let next = this.#byKey.get(key); next !== write; next = next.earlier) {
      if (!next) return;
      later = next;
    }
    if (later) later.earlier = earlier;
    else if (earlier) this.#byKey.set(key, earlier);
    else this.#byKey.delete(key);
    this.#dropContent(write);
  }
}
