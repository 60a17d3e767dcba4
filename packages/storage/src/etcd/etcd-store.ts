import { inSpan, requireValue, type SpanOptions } from '@cluster-apiserver/base';
import {
  KeyExistsError,
  RevisionMismatchError,
  StorageFullError,
  StorageUnavailableError,
  WriteInDoubtError,
} from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, CreateOptions, ReadResult, Store, StoredValue } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { watchEtcd } from './etcd-watch.ts';
import { sharedLeases } from './leases.ts';
import type { EtcdOperation } from './measures.ts';
import { LocalWrites } from './local-writes.ts';
import { createPageReader } from './page-reader.ts';
import { createProgressRequester } from './progress.ts';
import { awaitBeforeDeadline, EntryReader, readValue } from './values.ts';
import { type KeyValue, range } from './wire/key-value.ts';
import type { WriteOutcome } from './conditional-write.ts';
import { createConditionalWriter } from './write-once.ts';

export interface EtcdStoreOptions {
  readonly client: EtcdClient;
  readonly transformer: Transformer;
  /** The prefix of the store's internal keys. A watch of a prefix that contains them also reports progress by them. */
  readonly internalPrefix: string;
}

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
    const current = requireValue(outcome.current, 'the condition was that the key has no value, so it has one');
    throw new KeyExistsError(await read(current, call));
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
