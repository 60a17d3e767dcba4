import { detach, runTask, type SyncTask, throwIfAborted } from '@cluster-apiserver/base';
import { RevisionCompactedError, RevisionTooLargeError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Entry, SlowKeys, Store } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { isCompacted, isFutureRevision } from './faults.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import type { EtcdCall } from './retrying-call.ts';
import { awaitBeforeDeadline, type EntryReader } from './values.ts';
import { type KeyValue, type RangeRequest, type RangeResponse, range } from './wire/key-value.ts';

/** The first page of a list. The size of its values determines the size of the next page. */
const firstPageKeys = 100;

/** Large enough that pages cost little, small enough that one neither blocks etcd nor exceeds the timeout of an attempt. */
const pageBytes = 2 * 1024 * 1024;
const pageKeysMax = 2_000;

/** Longer than a KMS plugin needs for the keys of a page. Slower values are deferred. */
const listKeyTimeoutMs = 1_000;

/**
 * Reads pages at the revision of the first one, until the limit or the end. A continued list starts with the page size that
 * the list before it has found.
 */
export function createPageReader(client: EtcdClient, reader: EntryReader): Store['list'] {
  let lastList: { readonly prefix: string; readonly pageKeys: number } | undefined;
  function* readAll(values: readonly KeyValue[], slowKeys: SlowKeys | undefined): SyncTask<(Entry | Promise<Entry>)[]> {
    const read: (Entry | Promise<Entry>)[] = [];
    for (const value of values) {
      client.history.noteValue(value);
      read.push(reader.read(value, slowKeys === 'defer' ? listKeyTimeoutMs : undefined));
      yield;
    }
    return read;
  }
  return async (requested, call) => {
    const end = prefixEnd(requested.prefix);
    // A list must not mix two histories.
    const inHistory: EtcdCall = { ...detach(call), historyNumber: client.history.number };
    const entriesMax = requested.limit ?? Number.POSITIVE_INFINITY;
    const entries: Entry[] = [];
    let at = requested.revision;
    let after = requested.after;
    let pageKeys = after !== undefined && lastList?.prefix === requested.prefix ? lastList.pageKeys : firstPageKeys;
    for (;;) {
      throwIfAborted(call);
      const limit = Math.min(pageKeys, entriesMax - entries.length);
      const page = await readPage(
        client,
        { key: rangeStart(requested.prefix, after), end, limit, revision: at },
        inHistory,
      );
      at ??= revision(page.header.revision);
      // Decrypting thousands of values must not block the event loop.
      const read = await runTask(client.clock, call, readAll(page.values, requested.slowKeys));
      // Values that wait for keys wait concurrently.
      const all = read.every(isResolved) ? read : Promise.all(read.map(async (entry) => entry));
      entries.push(...(await awaitBeforeDeadline(all, call, client.clock)));
      const remaining = page.count - page.values.length;
      const last = page.values.at(-1);
      if (last) {
        after = last.key;
        pageKeys = nextPageKeys(page.values.reduce((sum, { value }) => sum + value.length, 0) / page.values.length);
        lastList = { prefix: requested.prefix, pageKeys };
      }
      if (remaining === 0 || entries.length >= entriesMax || !last) return { entries, revision: at, remaining };
    }
  };
}

const isResolved = (entry: Entry | Promise<Entry>): entry is Entry => !(entry instanceof Promise);

async function readPage(client: EtcdClient, request: RangeRequest, call: EtcdCall): Promise<RangeResponse> {
  try {
    return await client.call(range, request, call);
  } catch (cause) {
    const asked = revision(request.revision ?? 0);
    if (isCompacted(cause)) throw new RevisionCompactedError(asked, undefined, { cause });
    if (isFutureRevision(cause)) throw new RevisionTooLargeError(asked, { cause });
    throw cause;
  }
}

const nextPageKeys = (bytesPerValue: number): number =>
  Math.max(1, Math.min(pageKeysMax, Math.floor(pageBytes / Math.max(1, bytesPerValue))));
