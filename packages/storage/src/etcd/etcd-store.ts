import { requireValue, trackLatency } from '@cluster-apiserver/base';
import { KeyExistsError, RevisionMismatchError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type {
  Call,
  ChangeSet,
  CreateOptions,
  FollowedStore,
  Range,
  ReadResult,
  Snapshot,
  WatchOptions,
  WriteOptions,
} from '../store.ts';
import type { StoredValue } from '../stored-value.ts';
import { awaitBeforeDeadline } from '../transform/await-before-deadline.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { watchEtcd } from './etcd-watch.ts';
import { SharedLeases } from './leases.ts';
import type { HistoryReplaced } from './history.ts';
import { LocalWrites } from './local-writes.ts';
import { OperationTracker } from './operation-tracker.ts';
import { createPageReader } from './page-reader.ts';
import { ProgressRequester } from './progress.ts';
import { readValue } from './values.ts';
import { type KeyValue, range } from './wire/key-value.ts';
import type { WriteOnce, WriteOutcome } from './conditional-write.ts';
import { createConditionalWriter } from './write-once.ts';

export interface EtcdStoreOptions {
  readonly client: EtcdClient;
  readonly transformer: Transformer;
  /** The prefix of the store's internal keys. A watch of a prefix that contains them also reports progress by them. */
  readonly internalPrefix: string;
}

export const etcdStore = (options: EtcdStoreOptions): FollowedStore => new EtcdStore(options);

class EtcdStore implements FollowedStore {
  readonly #client: EtcdClient;
  readonly #transformer: Transformer;
  readonly #watched: Transformer;
  readonly #readPages: FollowedStore['list'];
  readonly #writeOnce: WriteOnce;
  readonly #localWrites = new LocalWrites();
  readonly #progress: ProgressRequester;
  readonly #operations: OperationTracker;

  constructor({ client, transformer, internalPrefix }: EtcdStoreOptions) {
    const localWrites = this.#localWrites;
    this.#client = client;
    this.#transformer = transformer;
    this.#watched = {
      toStorage: transformer.toStorage,
      fromStorage: (value, key, trace) => localWrites.take(key, value) ?? transformer.fromStorage(value, key, trace),
    };
    this.#readPages = createPageReader(client, transformer);
    this.#writeOnce = createConditionalWriter(client, new SharedLeases(client), internalPrefix);
    // The internal prefix is a sibling of the resources' prefixes.
    const resourceAt = internalPrefix.lastIndexOf('/', internalPrefix.length - 2) + 1;
    this.#progress = new ProgressRequester(client, `${internalPrefix}progress`);
    this.#operations = new OperationTracker(client, resourceAt);
  }

  get(key: string, caller: Call): Promise<ReadResult> {
    return this.#operations.track('get', key, caller, async (call) => {
      const { history } = this.#client;
      const { number } = history;
      const { header, values } = await this.#client.call(range, { key }, call);
      const [value] = values;
      if (value) history.noteValue(value, number);
      return { stored: value && (await this.#read(value, call)), revision: revision(header.revision) };
    });
  }

  list(requested: Range, caller: Call): Promise<Snapshot> {
    return this.#operations.track('list', requested.prefix, caller, (call) => this.#readPages(requested, call));
  }

  create(key: string, value: Buffer, options: CreateOptions, caller: Call): Promise<Revision> {
    return this.#operations.track('create', key, caller, async (call) => {
      const outcome = await this.#write(key, value, 0, options, call);
      if (outcome.applied) return revision(outcome.revision);
      const current = requireValue(outcome.current, 'the condition was that the key has no value, so it has one');
      throw new KeyExistsError(await this.#read(current, call));
    });
  }

  update(key: string, value: Buffer, expected: Revision, options: WriteOptions, caller: Call): Promise<Revision> {
    return this.#operations.track('update', key, caller, (call) =>
      this.#requireApplied(key, expected, call, this.#write(key, value, expected, options, call)),
    );
  }

  delete(key: string, expected: Revision, caller: Call): Promise<Revision> {
    const { history } = this.#client;
    return this.#operations.track('delete', key, caller, (call) =>
      this.#requireApplied(
        key,
        expected,
        call,
        this.#writeOnce({ key, expected, value: undefined }, call, history.number),
      ),
    );
  }

  watch(
    prefix: string,
    after: Revision,
    signal: AbortSignal,
    { withPrevious = true, needs = () => true }: WatchOptions = {},
  ): AsyncIterable<ChangeSet> {
    const progress = this.#progress;
    return watchEtcd(this.#client, this.#watched, { prefix, after, signal, withPrevious, needs, progress });
  }

  readLatestRevision(call: Call): Promise<Revision> {
    const reading = this.#operations.trace('head', '', call, (traced) => this.#client.readLatestRevision(traced));
    return trackLatency(call.latency, 'storage', reading);
  }

  requestProgress(): void {
    this.#progress.request();
  }

  restartWatches(): void {
    this.#progress.restartWatches();
  }

  get historyNumber(): number {
    return this.#client.history.number;
  }

  onHistoryReplaced(listener: (replaced: HistoryReplaced) => void): () => void {
    return this.#client.history.onReplaced(listener);
  }

  #read(keyValue: KeyValue, call: Call): StoredValue | Promise<StoredValue> {
    return awaitBeforeDeadline(readValue(this.#transformer, keyValue, call.trace), call, this.#client.clock);
  }

  async #write(
    key: string,
    value: Buffer,
    expected: number,
    { timeToLiveSeconds, source, preconditions }: CreateOptions,
    call: Call,
  ): Promise<WriteOutcome> {
    const { clock, history } = this.#client;
    const { number } = history;
    // Writes of the same turn are encrypted together, which takes less time for each.
    await Promise.resolve();
    // Encrypted once for all attempts, because the write is recognised by its bytes.
    const stored = await awaitBeforeDeadline(this.#transformer.toStorage(value, key, call.trace), call, clock);
    this.#localWrites.add(key, value, source, stored);
    let applied = false;
    try {
      const write = { key, expected, value: stored, timeToLiveSeconds, preconditions };
      const outcome = await this.#writeOnce(write, call, number);
      if (outcome.applied) {
        applied = true;
        history.noteValue({ key, value: stored, modRevision: outcome.revision }, number);
      }
      return outcome;
    } finally {
      if (!applied) this.#localWrites.remove(key, stored);
    }
  }

  async #requireApplied(
    key: string,
    expected: Revision,
    call: Call,
    writing: Promise<WriteOutcome>,
  ): Promise<Revision> {
    const outcome = await writing;
    if (outcome.applied) return revision(outcome.revision);
    const current = outcome.current && (await this.#read(outcome.current, call));
    throw new RevisionMismatchError(key, expected, current);
  }
}
