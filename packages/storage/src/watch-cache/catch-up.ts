/**
 * Serves readers that have missed changes which memory no longer has. Readers share a replay: one watch of the whole
 * collection, which starts at the oldest of them and buffers what it reads. So neither the number of readers nor a slow one
 * increases the load on the store or the memory.
 */
import type { Clock } from '@cluster-apiserver/base';
import type { HistoryReplacedError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import { type CatchUpReader, type CatchUpReaderOptions, ReplayReader } from './catch-up-reader.ts';
import type { CacheItem } from './collection-descriptor.ts';
import { type OpenReplay, revisionGapMax, SharedReplay } from './shared-replay.ts';

/** One for readers that return at the same time, and one for those that are further behind. */
const replaysMax = 2;

/** Counts of the replays of a collection. */
export interface CatchUpStatistics {
  /** Replays that are running now, and all since the start. */
  readonly running: number;
  readonly begun: number;
  /** Readers that wait for a replay. */
  readonly waiting: number;
  /** Readers that were refused because they waited too long. */
  readonly refused: number;
  /** The approximate size of the buffers. */
  readonly bufferedBytes: number;
}

export class CatchUp<Item extends CacheItem> {
  readonly #openReplay: OpenReplay<Item>;
  readonly #clock: Clock;
  readonly #replays = new Set<SharedReplay<Item>>();
  /** In order of arrival. */
  readonly #waiting = new Set<ReplayReader<Item>>();
  #isAdmissionScheduled = false;
  #begun = 0;
  #refused = 0;

  constructor(openReplay: OpenReplay<Item>, clock: Clock) {
    this.#openReplay = openReplay;
    this.#clock = clock;
  }

  get statistics(): CatchUpStatistics {
    let bufferedBytes = 0;
    for (const replay of this.#replays) bufferedBytes += replay.bufferedBytes;
    return {
      running: this.#replays.size,
      begun: this.#begun,
      waiting: this.#waiting.size,
      refused: this.#refused,
      bufferedBytes,
    };
  }

  open(after: Revision, options: CatchUpReaderOptions): CatchUpReader<Item> {
    return new ReplayReader(this, this.#clock, after, options);
  }

  /** The reader waits for a replay. */
  enter(reader: ReplayReader<Item>): void {
    this.#waiting.add(reader);
    this.#admitSoon();
  }

  /** The reader no longer waits. */
  leave(reader: ReplayReader<Item>): void {
    this.#waiting.delete(reader);
  }

  /** The reader has waited too long. */
  refuse(reader: ReplayReader<Item>): void {
    this.#refused++;
    this.leave(reader);
  }

  /** Another history begins: what was read, or is waited for, is of the previous one. */
  replaceHistory(error: HistoryReplacedError): void {
    for (const reader of this.#waiting) {
      this.#waiting.delete(reader);
      reader.handleReplayEnd(error);
    }
    for (const replay of this.#replays) replay.end(error);
  }

  /** Values may be read differently from now on, so readers get what they miss from other replays. */
  restart(): void {
    for (const replay of this.#replays) replay.end();
  }

  /** In the next turn, so that readers that arrive in this one share a replay. */
  #admitSoon(): void {
    if (this.#isAdmissionScheduled) return;
    this.#isAdmissionScheduled = true;
    this.#clock.soon(() => {
      this.#isAdmissionScheduled = false;
      this.#admit();
    });
  }

  #admit(): void {
    for (const reader of this.#waiting) {
      let replay = [...this.#replays].find((one) => one.covers(reader.sent));
      if (!replay && this.#replays.size < replaysMax) replay = this.#begin(reader.sent);
      if (!replay) continue;
      this.#waiting.delete(reader);
      reader.join(replay);
    }
  }

  /** Begins at the oldest waiting reader that is not much further behind than this one. */
  #begin(sent: Revision): SharedReplay<Item> {
    let after = sent;
    for (const reader of this.#waiting)
      if (reader.sent < after && reader.sent >= sent - revisionGapMax) after = reader.sent;
    const replay: SharedReplay<Item> = new SharedReplay(this.#openReplay, this.#clock, after, {
      hasWaitingReaders: () => this.#waiting.size > 0,
      onEnd: () => {
        this.#replays.delete(replay);
        this.#admitSoon();
      },
    });
    this.#replays.add(replay);
    this.#begun++;
    return replay;
  }
}
