import { withinCall } from '@cluster-apiserver/base';
import { KeyExistsError, RevisionCompactedError, RevisionMismatchError, RevisionTooLargeError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, CreateOptions, Entry, Reading, Store } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { watchEtcd } from './etcd-watch.ts';
import { isCompacted, isFutureRevision, isLeaseMissing } from './faults.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import { type SharedLeases, sharedLeases } from './leases.ts';
import { OwnWrites } from './own-writes.ts';
import { progressAsker } from './progress.ts';
import { readEntry, readValue } from './values.ts';
import { type RangeAnswer, type RangeRequest, range } from './wire/key-value.ts';
import { type WriteOutcome, writer } from './write-once.ts';

/** The first page of a list: its values tell how large the next may be. */
const firstPageKeys = 100;

/** Large enough that pages cost little, small enough that one neither blocks etcd nor outlasts an attempt. */
const pageBytes = 2 * 1024 * 1024;
const pageKeysMax = 2_000;

export interface EtcdStoreOptions {
  readonly client: EtcdClient;
  readonly transformer: Transformer;
  /** Where the store keeps keys of its own. A watch of a prefix that holds it learns of progress by them. */
  readonly ownPrefix: string;
}

export function etcdStore({ client, transformer, ownPrefix }: EtcdStoreOptions): Store {
  const leases = sharedLeases(client);
  const progress = progressAsker(client, `${ownPrefix}progress`);
  const writeOnce = writer(client, leases, ownPrefix);
  const ownWrites = new OwnWrites();
  const watched: Transformer = {
    toStorage: (value, key) => transformer.toStorage(value, key),
    fromStorage: (value, key) => ownWrites.take(key, value) ?? transformer.fromStorage(value, key),
  };

  const write = async (
    key: string,
    value: Buffer,
    expected: number,
    { timeToLiveSeconds, premises }: CreateOptions,
    call: Call,
  ): Promise<WriteOutcome> => {
    // Writes that came this far in one turn are transformed one right after the other, which takes each of them less.
    await Promise.resolve();
    // Once for all attempts: the bytes are what our own write is recognised by.
    const transformed = transformer.toStorage(value, key);
    const stored = transformed instanceof Promise ? await withinCall(client.clock, call, transformed) : transformed;
    const attempt = (lease: number): Promise<WriteOutcome> =>
      writeOnce({ key, expected, value: stored, lease, premises }, call);
    ownWrites.note(key, value, stored);
    let applied = false;
    try {
      const outcome = await (timeToLiveSeconds === undefined
        ? attempt(0)
        : writeWithLease(leases, timeToLiveSeconds, call, attempt));
      applied = outcome.applied;
      return outcome;
    } finally {
      if (!applied) ownWrites.drop(key, stored);
    }
  };
  const replaced = async (key: string, expected: Revision, writing: Promise<WriteOutcome>): Promise<Revision> => {
    const outcome = await writing;
    if (outcome.applied) return revision(outcome.revision);
    const current = outcome.current && (await readValue(transformer, outcome.current));
    throw new RevisionMismatchError(key, expected, current);
  };

  return {
    get: async (key, call): Promise<Reading> => {
      const { answer } = await client.call(range, { key }, call);
      client.sawRevision(answer.headRevision);
      const [value] = answer.values;
      return { stored: value && (await readValue(transformer, value)), revision: revision(answer.headRevision) };
    },
    list: pageReader(client, transformer),
    create: async (key, value, options, call) => {
      const outcome = await write(key, value, 0, options, call);
      if (outcome.applied) return revision(outcome.revision);
      // The condition was that nothing is there, so something is.
      throw new KeyExistsError(await readValue(transformer, outcome.current as NonNullable<typeof outcome.current>));
    },
    update: (key, value, expected, options, call) =>
      replaced(key, expected, write(key, value, expected, options, call)),
    delete: (key, expected, call) =>
      replaced(key, expected, writeOnce({ key, expected, value: undefined, lease: 0 }, call)),
    watch: (prefix, after, signal, previous = 'told') =>
      watchEtcd(client, watched, { prefix, after, signal, withPrevious: previous === 'told', progress }),
    head: (call) => client.readHead(call),
    askForProgress: () => progress.ask(),
  };
}

/** A lease can be gone, revoked or lost with the data of a member: then another is made, and the write repeated. */
async function writeWithLease(
  leases: SharedLeases,
  seconds: number,
  call: Call,
  attempt: (lease: number) => Promise<WriteOutcome>,
): Promise<WriteOutcome> {
  const lease = await leases.leaseFor(seconds, call);
  try {
    return await attempt(lease);
  } catch (error) {
    if (!isLeaseMissing(error)) throw error;
    leases.forget(lease);
    return attempt(await leases.leaseFor(seconds, call));
  }
}

/**
 * Reads page after page at the revision of the first, until the limit or the end. Who comes back for what lies behind
 * goes on with pages of the size that was found good before.
 */
function pageReader(client: EtcdClient, transformer: Transformer): Store['list'] {
  let found: { readonly prefix: string; readonly pageKeys: number } | undefined;
  return async (asked, call) => {
    const end = prefixEnd(asked.prefix);
    const wanted = asked.limit ?? Number.POSITIVE_INFINITY;
    const entries: Entry[] = [];
    let at = asked.revision;
    let after = asked.after;
    let pageKeys = after !== undefined && found?.prefix === asked.prefix ? found.pageKeys : firstPageKeys;
    for (;;) {
      const limit = Math.min(pageKeys, wanted - entries.length);
      const page = await readPage(client, { key: rangeStart(asked.prefix, after), end, limit, revision: at }, call);
      at ??= revision(page.headRevision);
      const read = page.values.map((value) => readEntry(transformer, value));
      // Those that wait for keys wait together.
      entries.push(...(read.every(isThere) ? read : await Promise.all(read.map(async (entry) => entry))));
      const remaining = page.count - page.values.length;
      const last = page.values.at(-1);
      if (last) {
        after = last.key;
        pageKeys = nextPageKeys(page.values.reduce((sum, { value }) => sum + value.length, 0) / page.values.length);
        found = { prefix: asked.prefix, pageKeys };
      }
      if (remaining === 0 || entries.length >= wanted || !last) return { entries, revision: at, remaining };
    }
  };
}

const isThere = (entry: Entry | Promise<Entry>): entry is Entry => !(entry instanceof Promise);

async function readPage(client: EtcdClient, request: RangeRequest, call: Call): Promise<RangeAnswer> {
  try {
    const { answer } = await client.call(range, request, call);
    client.sawRevision(answer.headRevision);
    return answer;
  } catch (cause) {
    const asked = revision(request.revision ?? 0);
    if (isCompacted(cause)) throw new RevisionCompactedError(asked, undefined, { cause });
    if (isFutureRevision(cause)) throw new RevisionTooLargeError(asked, { cause });
    throw cause;
  }
}

const nextPageKeys = (bytesPerValue: number): number =>
  Math.max(1, Math.min(pageKeysMax, Math.floor(pageBytes / Math.max(1, bytesPerValue))));
