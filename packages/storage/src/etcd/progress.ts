/**
 * Lets a quiet watch learn that it has missed nothing. A watch delivers only keys below its prefix, so a reader that waits
 * for a revision that another key has reached would never get it.
 */
import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient, MemberConnection } from './client.ts';
import { put } from './wire/key-value.ts';
import { encodeProgressRequest } from './wire/watch.ts';

/** Keeps quiet watches from falling behind compaction. */
const intervalMs = 1_000;

/**
 * Sends progress requests on the watches. For members that are too old for that (see capabilities.ts) it writes a key of
 * its own instead, whose event arrives after all earlier ones.
 */
export class ProgressRequester {
  readonly #client: EtcdClient;
  readonly #key: string;
  readonly #connections = new Set<MemberConnection>();
  /** Makes the value unique, so that the value at a revision identifies the history. */
  readonly #writer: string;
  #writes = 0;
  #isWriting = false;

  constructor(client: EtcdClient, key: string) {
    this.#client = client;
    this.#key = key;
    this.#writer = client.random.uuid();
  }

  request(): void {
    const answered = [...this.#connections].filter(requestOn).length;
    if (answered < this.#connections.size) void this.#write();
  }

  /** Closes the connections of all watches, which then resume at another member. */
  restartWatches(): void {
    for (const connection of [...this.#connections]) connection.close();
  }

  /** Requests progress on this connection, periodically and on `request`. The returned function removes it. */
  add(connection: MemberConnection): () => void {
    this.#connections.add(connection);
    const scheduleNext = (): (() => void) =>
      this.#client.clock.after(intervalMs, () => {
        requestOn(connection);
        cancel = scheduleNext();
      });
    let cancel = scheduleNext();
    return () => {
      this.#connections.delete(connection);
      cancel();
    };
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const { clock, electionTimeoutMs } = this.#client;
    try {
      // The result does not matter, because the watch delivers the event.
      const call = callUntil(clock.monotonicMs() + electionTimeoutMs);
      await this.#client.call(put, { key: this.#key, value: `${this.#writer}/${this.#writes++}` }, call);
    } catch {
      // A waiting reader requests progress again, or fails at its own deadline.
    } finally {
      this.#isWriting = false;
    }
  }
}

function requestOn(connection: MemberConnection): boolean {
  if (connection.supportsProgressRequests) connection.send(encodeProgressRequest());
  return connection.supportsProgressRequests;
}
