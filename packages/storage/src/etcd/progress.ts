/**
 * Lets a quiet watch learn that it has missed nothing. A watch delivers only keys below its prefix, so a reader that waits
 * for a revision that another key has reached would never get it.
 */
import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient, MemberConnection } from './client.ts';
import { put } from './wire/key-value.ts';
import { encodeProgressRequest } from './wire/watch.ts';

export interface ProgressRequester {
  request(): void;
  /** Closes the connections of all watches, which then resume at another member. */
  restartWatches(): void;
  /** Requests progress on this connection, periodically and on `request`. The returned function removes it. */
  add(connection: MemberConnection): () => void;
}

/** Keeps quiet watches from falling behind compaction. */
const intervalMs = 1_000;

/**
 * Sends progress requests on the watches. For members that are too old for that (see capabilities.ts) it writes a key of
 * its own instead, whose event arrives after all earlier ones.
 */
export function createProgressRequester(client: EtcdClient, key: string): ProgressRequester {
  const { clock, electionTimeoutMs } = client;
  const connections = new Set<MemberConnection>();
  /** Makes the value unique, so that the value at a revision identifies the history. */
  const writer = client.random.uuid();
  let writes = 0;
  let writing = false;

  const write = async (): Promise<void> => {
    if (writing) return;
    writing = true;
    try {
      // The result does not matter, because the watch delivers the event.
      const call = callUntil(clock.monotonicMs() + electionTimeoutMs);
      await client.call(put, { key, value: `${writer}/${writes++}` }, call);
    } catch {
      // A waiting reader requests progress again, or fails at its own deadline.
    } finally {
      writing = false;
    }
  };
  const requestOn = (connection: MemberConnection): boolean => {
    if (connection.supportsProgressRequests) connection.send(encodeProgressRequest());
    return connection.supportsProgressRequests;
  };

  return {
    request: () => {
      const answered = [...connections].filter(requestOn).length;
      if (answered < connections.size) void write();
    },
    restartWatches: () => {
      for (const connection of [...connections]) connection.close();
    },
    add: (connection) => {
      connections.add(connection);
      const scheduleNext = (): (() => void) =>
        clock.after(intervalMs, () => {
          requestOn(connection);
          cancel = scheduleNext();
        });
      let cancel = scheduleNext();
      return () => {
        connections.delete(connection);
        cancel();
      };
    },
  };
}
