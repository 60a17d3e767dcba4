import { detach, inSpan, throwIfAborted, runTask, type SpanOptions, type SyncTask } from '@cluster-apiserver/base';
import {
  KeyExistsError,
  RevisionCompactedError,
  RevisionMismatchError,
  RevisionTooLargeError,
  StorageFullError,
  StorageUnavailableError,
  WriteInDoubtError,
} from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, CreateOptions, Entry, SlowKeys, ReadResult, Store, StoredValue } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import type { EtcdCall } from './retrying-call.ts';
import { watchEtcd } from './etcd-watch.ts';
import { isCompacted, isFutureRevision } from './faults.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import { sharedLeases } from './leases.ts';
import type { EtcdOperation } from './measures.ts';
import { LocalWrites } from './local-writes.ts';
import { createProgressRequester } from './progress.ts';
import { awaitBeforeDeadline, EntryReader, readValue } from './values.ts';
import { type KeyValue, type RangeResponse, type RangeRequest, range } from './wire/key-value.ts';
import type { WriteOutcome } from './conditional-write.ts';
import { createConditionalWriter } from './write-once.ts';

/** The first page of a list. The size of its values determines the size of the next page. */
const firstPageKeys = 100;

/** Large enough that pages cost little, small enough that one neither blocks etcd nor exceeds the timeout of an attempt. */
const pageBytes = 2 * 1024 * 1024;
const pageKeysMax = 2_000;

export interface EtcdStoreOptions {
  readonly client: EtcdClient;
  readonly transformer: Transformer;
  /** The prefix of the store's internal keys. A watch of a prefix that contains them also reports progress by them. */
  readonly internalPrefix: string;
}

/** Longer than a KMS plugin needs for the keys of a page. Slower values are deferred. */
const listKeyTimeoutMs = 1_000;

export function etcdStore({ client, transformer, internalPrefix }: EtcdStoreOptions): Store {
  const { clock, history } = client;
  const progress = createProgressRequester(client, `${internalPrefix}progress`);
  const writeOnce = createConditionalWriter(client, sharedLeases(client), internalPrefix);
  const localWrites = new LocalWrites();
  const watched: Transformer = {
    toStorage: (value, key, trace) => transformer.toStorage(value, key, trace),
    fromStorage: (value, key, trace) => localWrites.take(key, value) ?? transformer.fromStorage(value, key, trace),
  };
  // The internal prefix is a sibling of the resources' prefixes.
  const resourceAt = internalPrefix.lastIndexOf('/', internalPrefix.length - 2) + 1;
  const listReader = new EntryReader(transformer, clock, resourceAt);
  const watchReader = new EntryReader(watched, clock, resourceAt);

  const read = (keyValue: KeyValue, call: Call): StoredValue | Promise<StoredValue> =>
    awaitBeforeDeadline(readValue(transformer, keyValue, call.trace), call, clock);
  const write = async (
    key: string,
    value: Buffer,
    expected: number,
    { timeToLiveSeconds, source, preconditions }: CreateOptions,
    call: Call,
  ): Promise<WriteOutcome> => {
    const { number } = history;
    // Writes of the same turn are encrypted together, which takes less time for each.
    await Promise.resolve();
    // Encrypted once for all attempts, because the write is recognised by its bytes.
    const stored = await awaitBeforeDeadline(transformer.toStorage(value, key, call.trace), call, clock);
    localWrites.add(key, value, source, stored);
    let applied = false;
    try {
      const outcome = await writeOnce({ key, expected, value: stored, timeToLiveSeconds, preconditions }, call, number);
      applied = outcome.applied;
      return outcome;
    } finally {
      if (!applied) localWrites.remove(key, stored);
    }
  };
  const resolveReplace = async (
    key: string,
    expected: Revision,
    call: Call,
    writing: Promise<WriteOutcome>,
  ): Promise<Revision> => {
    const outcome = await writing;
    if (outcome.applied) return revision(outcome.revision);
    const current = outcome.current && (await read(outcome.current, call));
    throw new RevisionMismatchError(key, expected, current);
  };

  const get = async (key: string, call: Call): Promise<ReadResult> => {
    const { header, values } = await client.call(range, { key }, call);
    const [value] = values;
    if (value) history.noteValue(value);
    return { stored: value && (await read(value, call)), revision: revision(header.revision) };
  };
  const list = createPageReader(client, listReader);
  const create: Store['create'] = async (key, value, options, call) => {
    const outcome = await write(key, value, 0, options, call);
    if (outcome.applied) return revision(outcome.revision);
    // The condition was that the key has no value, so it has one.
    throw new KeyExistsError(await read(outcome.current as NonNullable<typeof outcome.current>, call));
  };
  const measure = <T>(
    operation: EtcdOperation,
    key: string,
    call: Call,
    act: (call: Call) => Promise<T>,
  ): Promise<T> => {
    const result = call.trace
      ? inSpan(call, `etcd ${operation}`, act, spanOptions(operation, listReader.resourceOf(key)))
      : act(call);
    const startedMs = clock.monotonicMs();
    const ended = (failed: boolean): void => {
      const resource = listReader.resourceOf(key);
      client.measures.operationEnded(operation, resource, (clock.monotonicMs() - startedMs) / 1000, failed);
    };
    result.then(
      () => ended(false),
      (error: unknown) => {
        ended(error instanceof StorageUnavailableError || error instanceof StorageFullError);
        if (error instanceof WriteInDoubtError) client.measures.writeOutcomeUnknown();
      },
    );
    return result;
  };

  return {
    get: (key, call) => measure('get', key, call, (traced) => get(key, traced)),
    list: (asked, call) => measure('list', asked.prefix, call, (traced) => list(asked, traced)),
    create: (key, value, options, call) =>
      measure('create', key, call, (traced) => create(key, value, options, traced)),
    update: (key, value, expected, options, call) =>
      measure('update', key, call, (traced) =>
        resolveReplace(key, expected, traced, write(key, value, expected, options, traced)),
      ),
    delete: (key, expected, call) =>
      measure('delete', key, call, (traced) =>
        resolveReplace(key, expected, traced, writeOnce({ key, expected, value: undefined }, traced, history.number)),
      ),
    watch: (prefix, after, signal, { withPrevious = true, slowKeys = 'wait' } = {}) =>
      watchEtcd(client, watchReader, {
        prefix,
        after,
        signal,
        withPrevious,
        slowKeys,
        progress,
      }),
    readLatestRevision: (call) =>
      call.trace
        ? inSpan(call, 'etcd head', (traced) => client.readLatestRevision(traced), spanOptions('head', ''))
        : client.readLatestRevision(call),
    requestProgress: () => progress.request(),
    restartWatches: () => progress.restartWatches(),
    get historyNumber() {
      return history.number;
    },
    onHistoryReplaced: (listener) => history.onReplaced(listener),
  };
}

/** OpenTelemetry's conventions for databases. */
const spanOptions = (operation: string, resource: string): SpanOptions => ({
  kind: 'client',
  attributes: {
    'db.system.name': 'etcd',
    'db.operation.name': operation,
    ...(resource !== '' && { 'db.collection.name': resource }),
  },
});

/**
 * Reads pages at the revision of the first one, until the limit or the end. A continued list starts with the page size that
 * the list before it has found.
 */
function createPageReader(client: EtcdClient, reader: EntryReader): Store['list'] {
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
  return async (asked, call) => {
    const end = prefixEnd(asked.prefix);
    // A list must not mix two histories.
    const inHistory: EtcdCall = { ...detach(call), historyNumber: client.history.number };
    const entriesMax = asked.limit ?? Number.POSITIVE_INFINITY;
    const entries: Entry[] = [];
    let at = asked.revision;
    let after = asked.after;
    let pageKeys = after !== undefined && lastList?.prefix === asked.prefix ? lastList.pageKeys : firstPageKeys;
    for (;;) {
      throwIfAborted(call);
      const limit = Math.min(pageKeys, entriesMax - entries.length);
      const page = await readPage(
        client,
        { key: rangeStart(asked.prefix, after), end, limit, revision: at },
        inHistory,
      );
      at ??= revision(page.header.revision);
      // Decrypting thousands of values must not block the event loop.
      const read = await runTask(client.clock, call, readAll(page.values, asked.slowKeys));
      // Values that wait for keys wait concurrently.
      const all = read.every(isResolved) ? read : Promise.all(read.map(async (entry) => entry));
      entries.push(...(await awaitBeforeDeadline(all, call, client.clock)));
      const remaining = page.count - page.values.length;
      const last = page.values.at(-1);
      if (last) {
        after = last.key;
        pageKeys = nextPageKeys(page.values.reduce((sum, { value }) => sum + value.length, 0) / page.values.length);
        lastList = { prefix: asked.prefix, pageKeys };
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
