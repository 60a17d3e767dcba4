/** What happened to keys since a revision, as a watch tells it. */
import { HistoryReplacedError, StorageUnavailableError } from '../errors.ts';
import type { EtcdCall, EtcdClient, MemberConnection } from './client.ts';
import { EtcdFault } from './transport.ts';
import { decodeWatchMessage, encodeWatchCreate, type WatchEvent, type WatchRequest, watchPath } from './wire/watch.ts';

/** Old events come at once; a member that gives none within this part of an election timeout is not waited for. */
const attemptPerElectionTimeout = 0.45;
const pauseMs = 30;

/** In election timeouts. The question comes after an answer of etcd, so somebody is there to tell. */
const searchElectionsMax = 1.5;

export interface EventSearch {
  readonly after: number;
  /** Nothing up to here is what is looked for; so it is no loss when etcd has been made to forget it. */
  readonly known: number;
}

/** The first event after a revision that the caller accepts. It must be certain that there is one. */
export async function findEvent(
  client: EtcdClient,
  keys: Pick<WatchRequest, 'key' | 'end'>,
  { after, known }: EventSearch,
  accepts: (event: WatchEvent) => boolean,
  call: EtcdCall,
): Promise<WatchEvent> {
  const { clock, stallAwareClock: time, electionTimeoutMs } = client;
  const attemptMs = electionTimeoutMs * attemptPerElectionTimeout;
  const endMs = time.nowMs() + electionTimeoutMs * searchElectionsMax;
  const timeLeftMs = (): number => Math.min(endMs - time.nowMs(), call.deadlineMs - clock.monotonicMs());
  // One earlier than needed: an etcd that has compacted exactly to the start of a watch may leave out a deletion there.
  let startRevision = Math.max(after, 1);
  let cause: unknown;
  for (let leftMs = timeLeftMs(); leftMs > 0; leftMs = timeLeftMs()) {
    if (call.historyNumber !== undefined && call.historyNumber !== client.history.number)
      throw new HistoryReplacedError();
    let connection: MemberConnection;
    try {
      connection = await client.openStream(watchPath);
    } catch (fault) {
      if (!(fault instanceof EtcdFault)) throw fault;
      cause = fault;
      await time.sleep(pauseMs);
      continue;
    }
    const timeoutMs = Math.min(attemptMs, leftMs);
    const dueMs = time.nowMs() + timeoutMs;
    const cancelTimer = clock.after(timeoutMs, () => {
      time.noteTimerFired(dueMs);
      connection.close();
    });
    try {
      connection.send(encodeWatchCreate({ ...keys, startRevision, withPrevious: false }));
      for await (const bytes of connection.messages) {
        const message = decodeWatchMessage(bytes);
        if (message.compactRevision > known)
          throw new StorageUnavailableError(`what became of a write is gone with revision ${message.compactRevision}`);
        if (message.compactRevision > 0) startRevision = message.compactRevision;
        if (message.canceled) break;
        const found = message.events.find((event) => event.current.modRevision > after && accepts(event));
        if (found) return found;
      }
    } catch (fault) {
      if (!(fault instanceof EtcdFault)) throw fault;
      cause = fault;
    } finally {
      cancelTimer();
      connection.close();
    }
    connection.markFailed();
    await time.sleep(pauseMs);
  }
  throw new StorageUnavailableError('etcd does not tell what became of a write', { cause });
}
