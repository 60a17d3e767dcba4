import { detach, requireValue, throwIfAborted, trackLatency } from '@cluster-apiserver/base';
import { KeyExistsError, RevisionMismatchError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type {
  Call,
  ChangeSet,
  CreateOptions,
  FollowedStore,
  Range,
  ReadResult,
  ListResult,
  Precondition,
  WatchOptions,
  WriteOptions,
} from '../store.ts';
import type { StoredValue } from '../stored-value.ts';
import { awaitBeforeDeadline } from '../transform/await-before-deadline.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import type { Write, WriteDependencies, WriteOutcome } from './conditional-write.ts';
import { createOnce } from './create-once.ts';
import { watchEtcd } from './etcd-watch.ts';
import { SharedLeases } from './leases.ts';
import type { HistoryReplaced } from './history.ts';
import { OperationTracker } from './operation-tracker.ts';
import { type OwnWriteOptions, OwnWrites } from './own-writes.ts';
import { createPageReader } from './page-reader.ts';
import { ProgressRequester } from './progress.ts';
import { replaceOnce } from './replace-once.ts';
import type { EtcdCall } from './retrying-call.ts';
import { readValue } from './values.ts';
import { type KeyValue, type OtherKey, range } from './wire/key-value.ts';

/** Longer by far than the cache of a replica that serves may be behind. */
const endedSeconds = 86_400;

export interface EtcdStoreOptions {
  readonly client: EtcdClient;
  readonly transformer: Transformer;
  /** The prefix of the store's internal keys. A watch of a prefix that contains them also reports progress by them. */
  readonly internalPrefix: string;
}

export class EtcdStore implements FollowedStore {
  readonly #client: EtcdClient;
  readonly #transformer: Transformer;
  readonly #readPages: FollowedStore['list'];
  readonly #internalPrefix: string;
  readonly #ownWrites: OwnWrites;
  readonly #writeDependencies: WriteDependencies;
  /** Part of the fence keys of this process. */
  readonly #writerId: string;
  #fenceKeys = 0;
  /**
   * When the writes of callers began that were in doubt until the feed showed that others came first. It shows that without
   * a majority, too: the next write of the same caller then has no more time than this one had.
   */
  readonly #overtaken = new WeakMap<Call, number>();
  readonly #progress: ProgressRequester;
  readonly #operations: OperationTracker;

  constructor({ client, transformer, internalPrefix }: EtcdStoreOptions) {
    this.#client = client;
    this.#transformer = transformer;
    this.#internalPrefix = internalPrefix;
    this.#writerId = client.random.uuid();
    this.#readPages = createPageReader(client, transformer);
    // The internal prefix is a sibling of the resources' prefixes.
    const resourceAt = internalPrefix.lastIndexOf('/', internalPrefix.length - 2) + 1;
    this.#progress = new ProgressRequester(client.clock);
    this.#operations = new OperationTracker(client, resourceAt);
    this.#ownWrites = new OwnWrites(client, this.#progress);
    this.#writeDependencies = { client, leases: new SharedLeases(client), ownWrites: this.#ownWrites };
  }

  get writeCongestion(): number {
    return this.#client.writeCongestion;
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

  list(requested: Range, caller: Call): Promise<ListResult> {
    return this.#operations.track('list', requested.prefix, caller, (call) => this.#readPages(requested, call));
  }

  create(key: string, value: Buffer, options: CreateOptions, caller: Call): Promise<Revision> {
    return this.#operations.track('create', key, caller, async (call) => {
      const outcome = await this.#writeValue(key, value, 0, options, call, caller);
      if (outcome.applied) return revision(outcome.revision);
      const current = requireValue(outcome.current, 'the condition was that the key has no value, so it has one');
      throw new KeyExistsError(await this.#read(current, call));
    });
  }

  update(key: string, value: Buffer, expected: Revision, options: WriteOptions, caller: Call): Promise<Revision> {
    return this.#operations.track('update', key, caller, (call) =>
      this.#requireApplied(key, expected, call, this.#writeValue(key, value, expected, options, call, caller)),
    );
  }

  delete(key: string, expected: Revision, caller: Call): Promise<Revision> {
    const { history } = this.#client;
    const deletion = { key, after: expected, isNext: true, stored: undefined, content: undefined };
    return this.#operations.track('delete', key, caller, async (call) => {
      const writing = this.#write(deletion, {}, toWriteCall(call, history.number), caller);
      return this.#requireApplied(key, expected, call, writing);
    });
  }

  async end(whole: string, call: Call): Promise<void> {
    const options = { timeToLiveSeconds: endedSeconds };
    await this.create(this.#endKey(whole), Buffer.from('{}'), options, call).catch((error: unknown) => {
      if (!(error instanceof KeyExistsError)) throw error;
    });
  }

  #endKey(whole: string): string {
    return `${this.#internalPrefix}ended/${whole}`;
  }

  watch(
    prefix: string,
    after: Revision,
    signal: AbortSignal,
    { withPrevious = true, needs = () => true }: WatchOptions = {},
  ): AsyncIterable<ChangeSet> {
    // The feed of this replica: it has the changes of all keys.
    const ownWrites = !withPrevious && this.#internalPrefix.startsWith(prefix) ? this.#ownWrites : undefined;
    const progress = this.#progress;
    return watchEtcd(this.#client, this.#transformer, {
      prefix,
      after,
      signal,
      withPrevious,
      needs,
      ownWrites,
      progress,
    });
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

  async #writeValue(
    key: string,
    value: Buffer,
    expected: number,
    options: CreateOptions,
    traced: Call,
    caller: Call,
  ): Promise<WriteOutcome> {
    const { clock, history } = this.#client;
    const { number } = history;
    // Writes of the same turn are encrypted together, which takes less time for each.
    await Promise.resolve();
    // Encrypted once for all attempts, because the write is recognised by its bytes.
    const stored = await awaitBeforeDeadline(this.#transformer.toStorage(value, key, traced.trace), traced, clock);
    const { timeToLiveSeconds, preconditions: given, within = [] } = options;
    const ends = within.map((whole) => ({ key: this.#endKey(whole), revision: 0 }));
    const preconditions = ends.length > 0 ? [...(given ?? []), ...ends] : given;
    const others =
      !preconditions || preconditions.every(isUnwritten)
        ? preconditions
        : await this.#transformOthers(preconditions, traced);
    const call = toWriteCall(traced, number);
    // What is created comes after everything that is known. Only the first call of a client has to read it.
    const after = expected || history.revision || (await this.#client.readLatestRevision(call));
    const content = { value, source: options.source };
    const written = { key, after, isNext: expected > 0, stored, content };
    return this.#write(written, { timeToLiveSeconds, others }, call, caller);
  }

  async #write(
    written: OwnWriteOptions,
    { timeToLiveSeconds, others }: Omit<Write, 'own'>,
    call: WriteCall,
    caller: Call,
  ): Promise<WriteOutcome> {
    const own = this.#ownWrites.begin(written, this.#overtaken.get(caller));
    const series = { ...call, sinceMs: own.sinceMs };
    let isApplied = false;
    try {
      const write = { own, timeToLiveSeconds, others };
      const outcome = await (own.isNext
        ? replaceOnce(this.#writeDependencies, write, series)
        : createOnce(this.#writeDependencies, write, this.#nextFenceKey, series));
      isApplied = outcome.applied;
      const { key, stored, sinceMs } = own;
      if (!outcome.applied && outcome.wasInDoubt) this.#overtaken.set(caller, sinceMs);
      if (outcome.applied && stored)
        this.#client.history.noteValue({ key, value: stored, modRevision: outcome.revision }, call.historyNumber);
      return outcome;
    } finally {
      this.#ownWrites.end(own, isApplied);
    }
  }

  async #transformOthers(preconditions: readonly Precondition[], caller: Call): Promise<readonly OtherKey[]> {
    const transformed = preconditions.map(async ({ key, revision: at, value }) => ({
      key,
      revision: at,
      value: value && (await this.#transformer.toStorage(value, key, caller.trace)),
    }));
    return awaitBeforeDeadline(Promise.all(transformed), caller, this.#client.clock);
  }

  // The name `seals` is older than the word "fence key"; other versions of the server use the same keys.
  readonly #nextFenceKey = (): string => `${this.#internalPrefix}seals/${this.#writerId}/${this.#fenceKeys++}`;

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

const isUnwritten = (other: Precondition): other is Precondition & { readonly value?: undefined } =>
  other.value === undefined;

/** `historyNumber` is that of the history on which the write was decided. */
type WriteCall = EtcdCall & { readonly historyNumber: number };

/** From now on the write continues without its caller, because its outcome must become known. */
function toWriteCall(caller: Call, historyNumber: number): WriteCall {
  throwIfAborted(caller);
  return { ...detach(caller), historyNumber };
}
