/**
 * The history of revisions that everything known from etcd belongs to. Within one history revisions only grow, and the
 * content at a revision never changes; caches, watches and preconditions rely on that. A restored backup or a rebuilt
 * cluster has another history, whose revisions may look the same.
 */
import type { ClusterId, ResponseHeader } from './wire/rpc.ts';
import type { Pieces } from '../pieces.ts';

/** A value that was read or written at a revision. Another history does not have it there. */
export interface Anchor {
  readonly key: string;
  readonly modRevision: number;
  readonly value: Buffer | Pieces;
}

export interface HistoryReplaced {
  /**
   * How the replacement was detected. "compacted": everything that was known is. Then etcd was restored as of a much later
   * revision, or this process was cut off for longer than etcd keeps revisions; in both cases nothing can be resumed.
   */
  readonly reason: 'cluster id' | 'revision' | 'content' | 'compacted';
  /** The latest revision that was seen of the previous history. */
  readonly before: number;
  /** The latest revision of the new history. */
  readonly now: number;
}

export class History {
  /** How many histories there were before. Equal numbers mean that two responses belong to the same history. */
  number = 0;
  clusterId: ClusterId | undefined;
  /** The latest revision of all responses; 0 before the first one. */
  revision = 0;
  /** The latest value that was read or written. */
  anchor: Anchor | undefined;
  readonly #listeners = new Set<(replaced: HistoryReplaced) => void>();

  /** A revision was seen of the history with this number. Those of earlier histories may arrive late and do not count. */
  noteRevision(revision: number, number: number): void {
    if (number === this.number && revision > this.revision) this.revision = revision;
  }

  /** The same for a value. */
  noteValue(value: Anchor, number: number): void {
    if (number !== this.number || value.modRevision <= (this.anchor?.modRevision ?? 0)) return;
    this.anchor = { key: value.key, modRevision: value.modRevision, value: ownBytes(value.value) };
  }

  /** Calls back synchronously when another history is detected, before any of its data is delivered. */
  onReplaced(listener: (replaced: HistoryReplaced) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  replace(reason: HistoryReplaced['reason'], { clusterId, revision }: ResponseHeader): void {
    const replaced = { reason, before: this.revision, now: revision };
    this.number++;
    this.clusterId = clusterId;
    this.revision = revision;
    this.anchor = undefined;
    for (const listener of [...this.#listeners]) listener(replaced);
  }
}

/** A value that was read is a part of its message, which has up to some megabytes. */
const ownBytes = (value: Anchor['value']): Anchor['value'] =>
  Buffer.isBuffer(value) && value.buffer.byteLength > value.length ? Buffer.from(value) : value;
