import type { MemoryBudget } from '../connection/memory-budget.ts';
import { responseStallMs } from '../limits.ts';
import type { BodyWriter } from './write-body.ts';

/** Unread response bytes, and since when the client has read none. */
export interface Backlog {
  readonly bytes: number;
  readonly sinceMs: number;
}

/** How far the client has read a response, and the memory that the unread rest uses. */
export class ResponseProgress {
  /** Set once the body is written. */
  writer: BodyWriter | undefined;
  /** Bytes of the body that were written, sent or not. Those of a stream are not counted. */
  writtenBytes = 0;
  /** The memory for responses of the connection. */
  readonly #budget: MemoryBudget;
  #sendingSinceMs: number | undefined;
  #unwrittenBytes = 0;
  #unwrittenSinceMs: number | undefined;
  #bufferedBytes = 0;
  #isFinished = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The bytes that the socket had not taken at the last sweep. */
  get unwrittenBytes(): number {
    return this.#unwrittenBytes;
  }

  get backlog(): Backlog | undefined {
    const sinceMs = this.#unwrittenSinceMs ?? (this.#bufferedBytes > 0 ? this.#sendingSinceMs : undefined);
    return sinceMs === undefined ? undefined : { bytes: Math.max(this.#unwrittenBytes, this.#bufferedBytes), sinceMs };
  }

  /** From now on the client must keep reading. */
  markSending(nowMs: number): void {
    this.#sendingSinceMs = nowMs;
  }

  sweep(nowMs: number): void {
    if (!this.writer) return;
    const bytes = this.writer.writableLength;
    const moved = bytes !== this.#unwrittenBytes;
    this.#unwrittenBytes = bytes;
    if (bytes === 0) this.#unwrittenSinceMs = undefined;
    else if (moved || this.#unwrittenSinceMs === undefined) this.#unwrittenSinceMs = nowMs;
    if (moved && this.#sendingSinceMs !== undefined) this.#sendingSinceMs = nowMs;
  }

  isStalled(nowMs: number): boolean {
    return this.#sendingSinceMs !== undefined && nowMs - this.#sendingSinceMs > responseStallMs;
  }

  hold(bytes: number): void {
    this.writtenBytes += bytes;
    if (this.#isFinished) return;
    this.#bufferedBytes += bytes;
    this.#budget.acquire(bytes);
  }

  /** After the request has finished, everything has been released. */
  release(bytes: number): void {
    const released = Math.min(bytes, this.#bufferedBytes);
    if (released === 0) return;
    this.#bufferedBytes -= released;
    this.#budget.release(released);
  }

  /** The request has finished: releases everything. */
  finish(): void {
    this.#isFinished = true;
    this.release(this.#bufferedBytes);
  }
}
