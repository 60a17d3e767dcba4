/**
 * A watch that survives its connections. What makes it lossless is one number: the revision up to which everything has
 * been handed out. It moves with events and with progress notices, both of which etcd sends in order, and with nothing
 * else. The answer that a watch was created also names a revision, but that is how far the store is, not the watch: a
 * client that resumes from it leaves out all events in between.
 */
import { backoff, invariant, sleep } from '@cluster-apiserver/base';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Change, ChangeSet } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import type { ProgressAsker } from './progress.ts';
import { EtcdFault } from './transport.ts';
import { readEntry } from './values.ts';
import { decodeWatchMessage, encodeWatchCreate, type WatchEvent, type WatchMessage, watchPath } from './wire/watch.ts';

export interface WatchOptions {
  readonly prefix: string;
  readonly after: Revision;
  readonly signal: AbortSignal;
  readonly withPrevious: boolean;
  readonly progress: ProgressAsker;
}

/** The first reconnection is at once in effect; a cluster that is down for long is asked every few seconds. */
const reconnectFirstMs = 20;
const reconnectMaxMs = 2_000;

export async function* watchEtcd(
  client: EtcdClient,
  transformer: Transformer,
  { prefix, after, signal, withPrevious, progress }: WatchOptions,
): AsyncGenerator<ChangeSet> {
  const pauses = backoff({ firstMs: reconnectFirstMs, maxMs: reconnectMaxMs }, client.random);
  const start = rangeStart(prefix, undefined);
  const end = prefixEnd(prefix);
  let delivered = after;
  while (!signal.aborted) {
    const connection = client.stream(watchPath);
    const stopAsking = progress.follow(connection);
    // A reader that has gone may never come back for the end of the watch, so the signal alone ends everything.
    const close = (): void => {
      stopAsking();
      connection.close();
    };
    signal.addEventListener('abort', close, { once: true });
    try {
      // One earlier than needed. An etcd that has compacted exactly to where a watch starts leaves out a deletion at that
      // revision without a word (etcd issues 18089 and 19179); so it must be one that we have had.
      const startRevision = Math.max(delivered, 1);
      connection.send(encodeWatchCreate({ key: start, end, startRevision, withPrevious }));
      for await (const bytes of connection.messages) {
        if (signal.aborted) return;
        const message = decodeWatchMessage(bytes);
        if (message.compactRevision > 0) throw new RevisionCompactedError(delivered, revision(message.compactRevision));
        if (message.canceled) break;
        client.sawRevision(message.headRevision);
        for (const set of message.events.length > 0 ? setsIn(message, delivered) : progressIn(message, delivered)) {
          pauses.reset();
          const changes: Change[] = [];
          for (const event of set.events) changes.push(await changeOf(transformer, event, withPrevious));
          delivered = set.revision;
          yield { revision: delivered, changes };
        }
      }
    } catch (fault) {
      if (!(fault instanceof EtcdFault)) throw fault;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
    if (signal.aborted) return;
    connection.failed();
    // Ends early, by the signal, when nobody wants the watch any more.
    await sleep(client.clock, pauses.nextMs(), signal).catch(() => {});
  }
}

interface EventSet {
  readonly revision: Revision;
  readonly events: readonly WatchEvent[];
}

/** The events of a message by their revision. etcd keeps those of one revision in one message. */
function setsIn(message: WatchMessage, delivered: Revision): readonly EventSet[] {
  const sets: { revision: Revision; events: WatchEvent[] }[] = [];
  for (const event of message.events) {
    const at = revision(event.current.modRevision);
    if (at <= delivered) continue;
    const last = sets.at(-1);
    invariant(!last || at >= last.revision, `event ${at} came after ${last?.revision}: etcd's order is broken`);
    if (last?.revision === at) last.events.push(event);
    else sets.push({ revision: at, events: [event] });
  }
  return sets;
}

function progressIn(message: WatchMessage, delivered: Revision): readonly EventSet[] {
  if (message.created || message.headRevision <= delivered) return [];
  return [{ revision: revision(message.headRevision), events: [] }];
}

async function changeOf(
  transformer: Transformer,
  { deleted, current, previous }: WatchEvent,
  withPrevious: boolean,
): Promise<Change> {
  // What was there before is history too, and compaction may have taken it before the watch came this far.
  if (withPrevious && !previous && (deleted || current.createRevision < current.modRevision)) {
    throw new RevisionCompactedError(revision(current.modRevision - 1));
  }
  return {
    key: current.key,
    current: deleted ? undefined : await readEntry(transformer, current),
    previous: previous && (await readEntry(transformer, previous)),
  };
}
