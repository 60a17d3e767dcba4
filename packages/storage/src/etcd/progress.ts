/**
 * Lets a quiet watch learn that it has missed nothing. A watch delivers only keys below its prefix, so a reader that waits
 * for a revision that another key has reached would never get it.
 */
import type { Clock } from '@cluster-apiserver/base';
import type { MemberStream } from './transport.ts';
import { encodeProgressRequest } from './wire/watch.ts';

/** Keeps quiet watches from falling behind compaction. */
const intervalMs = 1_000;

/** Sends progress requests on the watches. */
export class ProgressRequester {
  readonly #clock: Clock;
  readonly #streams = new Set<MemberStream>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  request(): void {
    for (const stream of this.#streams) requestOn(stream);
  }

  /** Closes the streams of all watches, which then resume at another member. */
  restartWatches(): void {
    for (const stream of [...this.#streams]) stream.close();
  }

  /** Requests progress on this stream, periodically and on `request`. The returned function removes it. */
  add(stream: MemberStream): () => void {
    this.#streams.add(stream);
    const scheduleNext = (): (() => void) =>
      this.#clock.after(intervalMs, () => {
        requestOn(stream);
        cancel = scheduleNext();
      });
    let cancel = scheduleNext();
    return () => {
      this.#streams.delete(stream);
      cancel();
    };
  }
}

const requestOn = (stream: MemberStream): void => stream.send(encodeProgressRequest());
