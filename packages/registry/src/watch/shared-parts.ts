import type { Clock } from '@cluster-apiserver/base';
import type { Revision } from '@cluster-apiserver/storage';
import type { Batch } from './watch-event.ts';

/** A part of the initial state, or of missed changes. */
export interface Part {
  /** None if the part has no selected objects. */
  readonly batches: readonly Batch[];
}

/** A part of the state that a watch begins with. */
export interface StatePart extends Part {
  /** The key of its last object; undefined when it was the last part. */
  readonly last: string | undefined;
}

/** A part of the changes that a watcher has missed. */
export interface ChangesPart extends Part {
  /** Everything up to here is in it. */
  readonly next: Revision;
}

/** The bytes of events that are kept for the next watcher of a kind. Each form in which they were written adds as many. */
const keptBytesMax = 4 * 1024 * 1024;

/** A part without a batch takes memory, too. */
const partOverheadBytes = 256;

/** Tables show the ages of objects, so an encoded part becomes stale. */
const keptMs = 1_000;

interface KeptPart<P> {
  readonly part: P;
  readonly madeMs: number;
}

/**
 * The parts that watchers took last. Watchers that begin at the same place share them: thousands of watchers that begin
 * or reconnect together build and encode each part once.
 */
export class SharedParts<P extends Part> {
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #kept = new Map<string, KeptPart<P>>();
  #bytes = 0;
  #isExpiring = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The part with this name. It is built unless another watcher has just done so. */
  getOrBuild(name: string, build: () => P): P {
    const nowMs = this.#clock.monotonicMs();
    const kept = this.#kept.get(name);
    if (kept && nowMs - kept.madeMs < keptMs) return kept.part;
    if (kept) this.#drop(name, kept);
    const part = build();
    this.#kept.set(name, { part, madeMs: nowMs });
    this.#bytes += bytesOf(part);
    for (const [oldest, one] of this.#kept) {
      if (this.#bytes <= keptBytesMax) break;
      this.#drop(oldest, one);
    }
    this.#expireLater();
    return part;
  }

  /** An encoded part may hold much more memory than its bytes: each piece keeps a block of Node's buffer pool. */
  #expireLater(): void {
    if (this.#isExpiring) return;
    this.#isExpiring = true;
    this.#clock.after(keptMs, () => {
      this.#isExpiring = false;
      const nowMs = this.#clock.monotonicMs();
      for (const [oldest, one] of this.#kept) {
        if (nowMs - one.madeMs < keptMs) break;
        this.#drop(oldest, one);
      }
      if (this.#kept.size > 0) this.#expireLater();
    });
  }

  /** Drops all parts: the same names mean other parts from now on. */
  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #drop(name: string, { part }: KeptPart<P>): void {
    this.#kept.delete(name);
    this.#bytes -= bytesOf(part);
  }
}

const bytesOf = ({ batches }: Part): number => batches.reduce((sum, { bytes }) => sum + bytes, partOverheadBytes);
