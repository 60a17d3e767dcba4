/**
 * Which history of revisions all that we know belongs to. Within one history revisions only grow and what was written
 * at one of them never changes, and everything above relies on that: caches, watches, and conditions of writes. A
 * restored backup, a rebuilt cluster or an endpoint that leads elsewhere is another history that may look the same.
 */
import type { ClusterId, ResponseHeader } from './wire/fields.ts';
import type { KeyValue } from './wire/key-value.ts';

export interface HistoryReplaced {
  /** What gave it away. */
  readonly reason: 'cluster id' | 'revision' | 'content';
  /** The newest revision that was seen of the history before. */
  readonly before: number;
  /** The newest revision of the history that there is now. */
  readonly now: number;
}

export class History {
  /** How many there were before this one: whoever needs two answers of one history compares it. */
  number = 0;
  clusterId: ClusterId | undefined;
  /** The newest revision that any answer has told of; 0 before the first. */
  revision = 0;
  /** The newest value that was read: another history does not have it at that revision. */
  anchor: KeyValue | undefined;
  readonly #listeners = new Set<(replaced: HistoryReplaced) => void>();

  noteRevision(revision: number): void {
    if (revision > this.revision) this.revision = revision;
  }

  noteValue(value: KeyValue): void {
    if (value.modRevision > (this.anchor?.modRevision ?? 0)) this.anchor = value;
  }

  /** Calls back in the turn in which another history is found, before anything of it has reached anybody. */
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
