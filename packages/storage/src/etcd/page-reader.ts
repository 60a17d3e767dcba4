import { detach, runTask, type SyncTask, throwIfAborted } from '@cluster-apiserver/base';
import { RevisionCompactedError, RevisionTooLargeError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Entry, Store } from '../store.ts';
import { awaitBeforeDeadline } from '../transform/await-before-deadline.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { isCompacted, isFutureRevision } from './faults.ts';
import { MessageTooLargeError } from './grpc-frames.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import type { EtcdCall } from './retrying-call.ts';
import { awaitKeys, entryOf, PendingEntry, readEntry } from './values.ts';
import { type PageRequest, type RangePage, rangePage, valuesOfPage } from './wire/key-value.ts';

/** The first page of a list. The size of its values determines the size of the next page. */
const firstPageKeys = 100;

/**
 * etcd counts all keys after a page for each page, so reading many keys in small pages takes quadratic time: with 200,000
 * keys it spends 25 µs on each in pages of 2,000, and 10 µs in these. Larger pages would take too long for one attempt.
 */
const pageBytes = 8 * 1024 * 1024;
const pageKeysMax = 10_000;

/** In election timeouts. The first attempt for a page that takes this long does not time out. */
const quickPageElections = 1 / 3;

/** A page that takes longer than the first of these gets no more keys next time, and one beyond the second fewer keys. */
const growingPageElections = 1.5;
const slowPageElections = 3;

/**
 * Reads pages at the revision of the first one, until the limit or the end. etcd reads a page while the one before is
 * decrypted. A continued list starts with the page size that the list before it has found. If etcd or the network is
 * slow, pages get fewer keys: larger ones would be requested again and again, in vain.
 */
export function createPageReader(client: EtcdClient, transformer: Transformer): Store['list'] {
  let lastList: { readonly prefix: string; readonly pageKeys: number } | undefined;
  function* readAll(page: RangePage, historyNumber: number): SyncTask<(Entry | PendingEntry)[]> {
    const read: (Entry | PendingEntry)[] = [];
    for (const value of valuesOfPage(page)) {
      client.history.noteValue(value, historyNumber);
      read.push(readEntry(transformer, value));
      yield;
    }
    return read;
  }
  return async (requested, call) => {
    const end = prefixEnd(requested.prefix);
    // A list must not mix two histories.
    const historyNumber = client.history.number;
    const inHistory: EtcdCall = { ...detach(call), historyNumber };
    const requestPage = (after: string | undefined, limit: number, at: Revision | undefined): Promise<TimedPage> => {
      const request = { key: rangeStart(requested.prefix, after), end, limit, revision: at };
      const page = readTimedPage(client, request, inHistory);
      page.catch(() => {}); // the error is thrown where the page is awaited, unless the list has failed before
      return page;
    };
    const entries: Entry[] = [];
    let missing = requested.limit ?? Number.POSITIVE_INFINITY;
    let pageKeys =
      requested.after !== undefined && lastList?.prefix === requested.prefix ? lastList.pageKeys : firstPageKeys;
    let at = requested.revision;
    let next: Promise<TimedPage> | undefined = requestPage(requested.after, Math.min(pageKeys, missing), at);
    for (;;) {
      throwIfAborted(call);
      const { page, tookMs }: TimedPage = await next;
      at ??= revision(page.header.revision);
      const remaining = page.count - page.size;
      missing -= page.size;
      next = undefined;
      if (page.last) {
        pageKeys = nextPageKeys(page, tookMs / client.electionTimeoutMs);
        lastList = { prefix: requested.prefix, pageKeys };
        if (remaining > 0 && missing > 0) next = requestPage(page.last.key, Math.min(pageKeys, missing), at);
      }
      // Decoding and decrypting thousands of values must not block the event loop, nor must many pages that arrive together.
      const isLarge = page.size > firstPageKeys;
      const read = await runTask(client.clock, call, readAll(page, historyNumber), isLarge);
      // The keys have been requested concurrently.
      const pending = read.filter((one) => one instanceof PendingEntry);
      if (pending.length > 0) {
        const keys = awaitKeys(client.clock, pending, requested.keyTimeoutMs ?? Number.POSITIVE_INFINITY);
        await awaitBeforeDeadline(keys, call, client.clock);
      }
      for (const one of read) entries.push(entryOf(one));
      if (!next) return { entries, revision: at, remaining };
    }
  };
}

interface TimedPage {
  readonly page: RangePage;
  readonly tookMs: number;
}

async function readTimedPage(client: EtcdClient, request: PageRequest, call: EtcdCall): Promise<TimedPage> {
  const startedMs = client.clock.monotonicMs();
  const page = await readPage(client, request, call);
  return { page, tookMs: client.clock.monotonicMs() - startedMs };
}

/** Values may be much larger than those of the page before: then the page has fewer keys than requested. */
async function readPage(client: EtcdClient, request: PageRequest, call: EtcdCall): Promise<RangePage> {
  try {
    return await client.call(rangePage, request, call);
  } catch (cause) {
    if (cause instanceof MessageTooLargeError && request.limit > 1) {
      const share = Math.min(0.5, pageBytes / cause.bytes);
      return readPage(client, { ...request, limit: Math.max(1, Math.floor(request.limit * share)) }, call);
    }
    const asked = revision(request.revision ?? 0);
    if (isCompacted(cause)) throw new RevisionCompactedError(asked, undefined, { cause });
    if (isFutureRevision(cause)) throw new RevisionTooLargeError(asked, { cause });
    throw cause;
  }
}

function nextPageKeys({ message, size }: RangePage, elections: number): number {
  const keysOfBytes = Math.floor((size * pageBytes) / message.length);
  const keysOfTime = Math.floor(size * growthAfter(elections));
  return Math.max(1, Math.min(pageKeysMax, keysOfBytes, keysOfTime));
}

/** How many times as many keys the next page may have. Much of the time of a page may not depend on its keys. */
function growthAfter(elections: number): number {
  if (elections > slowPageElections) return 0.5;
  return elections > growingPageElections ? 1 : Math.max(2, quickPageElections / elections);
}
