/**
 * How a quiet watch learns that it has missed nothing. A watch tells of the keys below its prefix only, so when a key of
 * somebody else moves the store's revision, whoever waits for that revision would wait for nothing.
 */
import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient, MemberConnection } from './client.ts';
import { put } from './wire/key-value.ts';
import { encodeProgressRequest } from './wire/watch.ts';

export interface ProgressRequester {
  request(): void;
  /** Ends all connections that it asks on: whoever follows them begins again at another member. */
  restartWatches(): void;
  /** Asks on this connection, now and then and when told to. The returned function ends that. */
  add(connection: MemberConnection): () => void;
}

/** So that a watch which nobody waits for does not fall behind compaction either. */
const intervalMs = 1_000;

/** Nobody waits for its answer: the watch tells. */
const putTimeoutMs = 1_000;

/**
 * A member is asked on the watch itself. One that is too old for that (see capabilities.ts) may answer before it has
 * told of the events that its answer speaks of. There a key of our own is written: its event comes behind all others.
 */
export function createProgressRequester(client: EtcdClient, key: string): ProgressRequester {
  const { clock } = client;
  const connections = new Set<MemberConnection>();
  /** Nobody else writes the same, so that what is read at a revision tells which history it belongs to. */
  const writer = client.random.uuid();
  let writes = 0;
  let writing = false;

  const write = async (): Promise<void> => {
    if (writing) return;
    writing = true;
    try {
      await client.call(put, { key, value: `${writer}/${writes++}` }, callUntil(clock.monotonicMs() + putTimeoutMs));
    } catch {
      // Whoever waits asks again, or gives up at the end of his own time.
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
