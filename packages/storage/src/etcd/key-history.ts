/** What happened to one key since a revision, as a watch tells it. */
import { sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { EtcdFault } from './transport.ts';
import { decodeWatchMessage, encodeWatchCreate, type WatchEvent, watchPath } from './wire/watch.ts';

/** Old events come at once; a member that gives none within this time is asked no longer. */
const attemptMs = 450;

const pauseMs = 30;

/** The first event of a key, after a revision, that the caller accepts. It must be known that there is one. */
export async function findEvent(
  client: EtcdClient,
  key: string,
  after: number,
  accepts: (event: WatchEvent) => boolean,
  call: Call,
): Promise<WatchEvent> {
  let startRevision = after + 1;
  let cause: unknown;
  while (client.clock.monotonicMs() < call.deadlineMs) {
    const connection = client.stream(watchPath);
    const leftMs = call.deadlineMs - client.clock.monotonicMs();
    const cancelTimer = client.clock.after(Math.min(attemptMs, leftMs), () => connection.close());
    try {
      connection.send(encodeWatchCreate({ key, startRevision }));
      for await (const bytes of connection.messages) {
        const message = decodeWatchMessage(bytes);
        // What is gone is older than any write of ours that is still in doubt.
        if (message.compactRevision > 0) startRevision = message.compactRevision;
        if (message.canceled) break;
        const found = message.events.find(accepts);
        if (found) return found;
      }
    } catch (fault) {
      if (!(fault instanceof EtcdFault)) throw fault;
      cause = fault;
    } finally {
      cancelTimer();
      connection.close();
    }
    connection.failed();
    await sleep(client.clock, pauseMs);
  }
  throw new StorageUnavailableError(`etcd does not tell what became of ${key}`, { cause });
}
