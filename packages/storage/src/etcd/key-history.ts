/** Searches the past events of keys with a watch. */
import { HistoryReplacedError, StorageUnavailableError } from '../errors.ts';
import type { EtcdClient, MemberConnection } from './client.ts';
import type { EtcdCall } from './retrying-call.ts';
import { EtcdFault } from './transport.ts';
import {
  decodeWatchMessage,
  encodeWatchCreate,
  eventsOfMessage,
  type WatchEvent,
  type WatchRequest,
  watchPath,
} from './wire/watch.ts';

/** Past events arrive at once. A member that delivers none within this fraction of an election timeout is given up. */
const attemptPerElectionTimeout = 0.45;
const pauseMs = 30;

/** In election timeouts. etcd has just responded, so a member is available. */
const searchElectionsMax = 1.5;

export interface EventSearch {
  readonly after: number;
  /** The event is after this revision, so events up to here may be compacted. */
  readonly compactableTo: number;
}

/** Returns the first event after a revision that the caller accepts. There must be one, or the search ends in an error. */
export async function findEvent(
  client: EtcdClient,
  keys: Pick<WatchRequest, 'key' | 'end'>,
  { after, compactableTo }: EventSearch,
  accepts: (event: WatchEvent) => boolean,
  call: EtcdCall,
): Promise<WatchEvent> {
  const { clock, stallAwareClock, electionTimeoutMs } = client;
  const attemptMs = electionTimeoutMs * attemptPerElectionTimeout;
  const endMs = stallAwareClock.nowMs() + electionTimeoutMs * searchElectionsMax;
  const timeLeftMs = (): number => Math.min(endMs - stallAwareClock.nowMs(), call.deadlineMs - clock.monotonicMs());
  // One earlier than needed: etcd may omit a deletion at the start of a watch if it has compacted exactly up to there.
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
      await stallAwareClock.sleep(pauseMs);
      continue;
    }
    const cancelTimer = stallAwareClock.after(Math.min(attemptMs, leftMs), () => connection.close());
    try {
      connection.send(encodeWatchCreate({ ...keys, startRevision, withPrevious: false }));
      for await (const bytes of connection.messages) {
        const message = decodeWatchMessage(bytes);
        if (message.compactRevision > compactableTo)
          throw new StorageUnavailableError(
            `the outcome of a write was compacted with revision ${message.compactRevision}`,
          );
        if (message.compactRevision > 0) startRevision = message.compactRevision;
        if (message.canceled) break;
        for (const event of eventsOfMessage(message))
          if (event.current.modRevision > after && accepts(event)) return event;
      }
    } catch (fault) {
      if (!(fault instanceof EtcdFault)) throw fault;
      cause = fault;
    } finally {
      cancelTimer();
      connection.close();
    }
    connection.markFailed();
    await stallAwareClock.sleep(pauseMs);
  }
  throw new StorageUnavailableError('etcd did not report the outcome of a write in time', { cause });
}
